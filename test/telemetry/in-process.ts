/** Sends one request to an endpoint in this process. */
import type { edge } from "../../src/worker/index.ts";

type App = ReturnType<typeof edge>;

/** What a test can say about a request. */
export interface Sending {
  readonly meta?: object;
  readonly signal?: AbortSignal;
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "probe", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Sends a request of 2026-07-28, and returns the message of the response. */
export async function send(
  app: Pick<App, "fetch">,
  method: string,
  params: { readonly name?: string; readonly uri?: string; readonly arguments?: object } = {},
  { meta, signal }: Sending = {},
): Promise<{ readonly result?: unknown; readonly error?: { readonly code: number; readonly message: string } }> {
  const name = params.name ?? params.uri;
  const request = new Request("http://127.0.0.1/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name === undefined ? {} : { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: { ...META, ...meta } } }),
    ...(signal ? { signal } : {}),
  });
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
  const response = await app.fetch(request, {}, context as unknown as ExecutionContext);
  return (await response.json()) as { result?: unknown };
}
