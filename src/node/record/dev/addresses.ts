/**
 * The addresses of `mcp-edge dev`. It listens where wrangler would listen without it.
 *
 * @module
 */
import type { RecordingProxy } from "../proxy/recording-proxy.ts";

/** The default port of wrangler. If it is in use and no port was chosen, wrangler uses another port. */
const DEFAULT_PORT = 8787;

/** Listens where wrangler would. Returns the port. Undefined if the chosen port is in use. */
export async function listenLike(
  proxy: RecordingProxy,
  host: string,
  port: number | undefined,
): Promise<number | undefined> {
  const hosts = toHosts(host);
  try {
    return await proxy.listen(hosts, port ?? DEFAULT_PORT);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return port === undefined ? proxy.listen(hosts, 0) : undefined;
  }
}

/** Returns the addresses of a host. An empty string means all addresses. */
function toHosts(host: string): readonly string[] {
  if (host === "localhost") return ["127.0.0.1", "::1"];
  return [host === "*" ? "" : host];
}

/** Returns the origin to which clients on this machine connect. */
export function toOrigin(host: string, port: number): string {
  const isEverywhere = host === "0.0.0.0" || host === "*" || host === "::";
  const shown = isEverywhere ? "127.0.0.1" : host;
  return `http://${shown.includes(":") && !shown.startsWith("[") ? `[${shown}]` : shown}:${port}`;
}
