/**
 * Records the exchanges between clients and an HTTP server.
 *
 * @module
 */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { RECORDER_PATH } from "../../../recorder/api.ts";
import type { ProxiedRequest } from "../proxy/proxied-connection.ts";
import { RecordingProxy } from "../proxy/recording-proxy.ts";
import { createRoutes } from "../routes.ts";
import { type WireOptions, WireRecording } from "./recording.ts";

/** A running recording. */
export interface HttpRecording {
  /** The URL that clients use instead of the server's. */
  readonly url: string;
  /** The URL of the page. */
  readonly page: string;
  /** Ends the recording. Returns the number of entries if they were written to a file. */
  close(): Promise<number | undefined>;
}

/** Starts recording a server. @param headers Headers to add to each request, such as a token. */
export async function recordHttp(
  server: string,
  options: WireOptions,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpRecording> {
  const target = new URL(server);
  const recording = new WireRecording(options, target.pathname);
  for (const value of Object.values(headers)) recording.recorder.redactor.secrets.add(value);
  const proxy: RecordingProxy = new RecordingProxy({
    recorder: recording.recorder,
    connect: () => connectTo(target),
    inside: createRoutes(recording.routes((entryId) => proxy.cut(entryId))),
    hasTail: false,
    change: (request) => addressTo(target, request, origin, headers),
  });
  const port = await proxy.listen(["127.0.0.1"], options.port);
  const origin = `http://127.0.0.1:${port}`;
  recording.endpointUrl = origin + target.pathname + target.search;
  return {
    url: recording.endpointUrl,
    page: origin + RECORDER_PATH,
    async close() {
      const written = recording.end();
      await proxy.close();
      return written;
    },
  };
}

function connectTo({ protocol, hostname, port }: URL): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol !== "https:") return connectPlain({ host, port: Number(port || 80), allowHalfOpen: true });
  const named = isIP(host) === 0 ? { servername: host } : {};
  return connectSecure({ host, port: Number(port || 443), ALPNProtocols: ["http/1.1"], ...named });
}

/** Replaces the host and origin of this proxy in the head of a request with those of the server, and adds headers. */
function addressTo(
  target: URL,
  { bytes }: ProxiedRequest,
  origin: string,
  headers: Readonly<Record<string, string>>,
): Buffer {
  const added = Object.entries(headers);
  const names = new Set(added.map(([name]) => name.toLowerCase()));
  const [first = "", ...lines] = bytes
    .toString("latin1")
    .split(/\r?\n/)
    .filter((line) => line !== "");
  const changed = lines.flatMap((line) => {
    const name = line.slice(0, Math.max(line.indexOf(":"), 0)).toLowerCase();
    if (names.has(name)) return [];
    if (name === "host") return [`Host: ${target.host}`];
    const isOwn = name === "origin" && line.slice(line.indexOf(":") + 1).trim() === origin;
    return [isOwn ? `Origin: ${target.origin}` : line];
  });
  const all = [first, ...changed, ...added.map(([name, value]) => `${name}: ${value}`), "", ""];
  return Buffer.from(all.join("\r\n"), "latin1");
}
