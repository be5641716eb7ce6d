/** `src/http/` behind a plain `node:http` server in this process, without Workers and Hono. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { HttpHandler } from "../../src/http/endpoint-types.ts";

export interface NodeServer {
  readonly origin: string;
  /** Rejections of handlers and errors of the conversion. Stays empty, because an `HttpHandler` never rejects. */
  readonly failures: unknown[];
  stop(): Promise<void>;
}

/** Serves each handler at its path. */
export async function startNodeServer<Env>(
  handlers: Readonly<Record<string, HttpHandler<Env>>>,
  env: Env,
): Promise<NodeServer> {
  const failures: unknown[] = [];
  const server = createServer((incoming, outgoing) => {
    const handle = handlers[incoming.url?.split("?")[0] ?? ""];
    if (handle)
      void answer(incoming, outgoing, (request) => handle(request, env)).catch((error) => failures.push(error));
    else outgoing.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    failures,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handle: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const request = requestOf(incoming, gone.signal);
  if (!request) return void outgoing.writeHead(400).end();
  const response = await handle(request);
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.flushHeaders();
  if (!response.body) return void outgoing.end();
  try {
    // Waits for the socket to drain, and cancels the body when the socket closes.
    await pipeline(response.body as unknown as AsyncIterable<Uint8Array>, outgoing);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

/** Converts the request to a web standard one; undefined if that is not possible: an invalid Host, TRACE. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  }
  const address = `http://${headers.get("host") ?? ""}${url}`;
  if (!URL.canParse(address) || method === "TRACE") return undefined;
  return new Request(address, { method, headers, signal, ...bodyOf(incoming, method) });
}

function bodyOf(incoming: IncomingMessage, method: string): { body?: ReadableStream; duplex?: "half" } {
  if (method === "GET" || method === "HEAD") return {};
  // Not destroyed when the reader stops: the refusal still has to be sent on the same socket.
  const chunks = Readable.from(incoming.iterator({ destroyOnReturn: false }), { objectMode: false });
  return { body: Readable.toWeb(chunks) as unknown as ReadableStream, duplex: "half" };
}
