/** A small HTTP server that answers as a test tells it to, for servers that ours would never be. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  readonly method: string;
  /** The path with the query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed body; undefined for a GET. */
  readonly message:
    | { readonly id?: unknown; readonly method?: string; readonly params?: Record<string, unknown> }
    | undefined;
}

export interface Scripted extends AsyncDisposable {
  readonly url: string;
  /** Every request so far: its HTTP method, and its JSON-RPC method if it has one. */
  readonly asked: string[];
}

/** Starts a server on a free port. */
export async function scripted(answer: (asked: Asked, response: ServerResponse) => unknown): Promise<Scripted> {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const message = text === "" ? undefined : (JSON.parse(text) as Asked["message"]);
    asked.push([request.method, message?.method].filter(Boolean).join(" "));
    await answer({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, message }, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    asked,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Answers a request with a result. */
export function result(
  response: ServerResponse,
  id: unknown,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  json(response, 200, { jsonrpc: "2.0", id, result: value }, headers);
}

/** Answers a request with an error. */
export function error(response: ServerResponse, status: number, id: unknown, code: number, data?: unknown): void {
  json(response, status, { jsonrpc: "2.0", id, error: { code, message: `error ${code}`, data } });
}

/** The result of `initialize` in a version. */
export function initialized(protocolVersion: string, capabilities: Record<string, unknown> = { tools: {} }) {
  return { protocolVersion, capabilities, serverInfo: { name: "scripted", version: "1.0.0" } };
}

/** The result of `server/discover`. */
export function discovered(
  supportedVersions: readonly string[] = ["2026-07-28"],
  capabilities: Record<string, unknown> = { tools: {} },
) {
  return { resultType: "complete", supportedVersions, capabilities, ttlMs: 0, cacheScope: "public" };
}
