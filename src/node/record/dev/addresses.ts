/**
 * Where `mcp-edge dev` listens: where wrangler would.
 *
 * @module
 */
import { type AddressInfo, createServer } from "node:net";
import type { RecordingProxy } from "../proxy/recording-proxy.ts";

/** The port of wrangler. If it is in use and was not chosen, wrangler takes another one. */
const DEFAULT_PORT = 8787;

/** Listens where wrangler would. Returns the port; undefined if it was chosen and is in use. */
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

/** Returns the addresses of a host. An empty one stands for all. */
function toHosts(host: string): readonly string[] {
  if (host === "localhost") return ["127.0.0.1", "::1"];
  return [host === "*" ? "" : host];
}

/** Returns the origin at which a client on this machine connects. */
export function toOrigin(host: string, port: number): string {
  const isEverywhere = host === "0.0.0.0" || host === "*" || host === "::";
  const shown = isEverywhere ? "127.0.0.1" : host;
  return `http://${shown.includes(":") && !shown.startsWith("[") ? `[${shown}]` : shown}:${port}`;
}

/** Returns a free port of the loopback address, for wrangler. */
export function findPort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => done(port));
    });
  });
}
