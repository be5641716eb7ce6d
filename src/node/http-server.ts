/**
 * Serves a function from `Request` to `Response` with Node's HTTP server.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";

/** A running server. */
export interface Listening {
  /** The address, such as `http://127.0.0.1:8808`. */
  readonly origin: string;
  /** Stops the server and closes all connections. */
  close(): Promise<void>;
}

/** Handles a request. */
export type RequestHandler = (request: Request) => Response | Promise<Response>;

/**
 * Starts a server.
 *
 * @param port The port; 0 chooses a free one.
 * @param hostname The address to listen on. @default 127.0.0.1, which only this machine can reach
 * @throws {Error} if the port is in use.
 */
export async function listen(handle: RequestHandler, port: number, hostname = "127.0.0.1"): Promise<Listening> {
  const server: Server = createServer((incoming, outgoing) => {
    respond(handle, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, resolve);
  });
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    origin: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function respond(handle: RequestHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort(new Error("The client has disconnected."));
  });
  const request = toRequest(incoming, gone.signal);
  if (!request) return void outgoing.writeHead(400).end();
  const response = await handle(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (!response.body) return void outgoing.end();
  const reader = response.body.getReader();
  gone.signal.addEventListener("abort", () => void reader.cancel(gone.signal.reason).catch(() => undefined));
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (!outgoing.write(part.value)) await untilDrained(outgoing, gone.signal);
  }
  outgoing.end();
}

/** Converts a request. Returns undefined if the Host header and the path do not form a valid URL. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "/", headers } = incoming;
  const whole = `http://${headers.host ?? ""}${url}`;
  if (headers.host === undefined || !URL.canParse(whole)) return undefined;
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) copied.append(name, each);
  }
  // On Cloudflare, the platform sets this header. Here a client could set it to any value, so it is overwritten.
  copied.set("CF-Connecting-IP", (incoming.socket.remoteAddress ?? "unknown").replace(/^::ffff:/, ""));
  const hasBody = method !== "GET" && method !== "HEAD";
  // The types of Node's streams and web streams differ in details that do not matter here.
  const body = hasBody ? { body: Readable.toWeb(incoming) as unknown as ReadableStream, duplex: "half" } : {};
  return new Request(whole, { method, headers: copied, signal, ...body } as RequestInit);
}

function untilDrained(outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    outgoing.once("drain", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
