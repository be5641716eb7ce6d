/** What a plugin gets to know about a request that is refused, at each stage. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { initialize, type Members, meta, request, standardHeaders } from "../http/messages.ts";

const SOURCE = `
import { Hono } from "hono";
import { McpServer } from "./src/core/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { authenticate, definePlugin, edge, limitBytesInFlight } from "./src/worker/index.ts";
import { httpSse } from "./src/worker/http-sse/index.ts";

const refused = [];
const watching = definePlugin({
  name: "watching()",
  attach: () => ({
    authorize: ({ messages }) =>
      messages.some(({ message }) => message?.params?.name === "secret")
        ? { reason: "secret-tool", form: { status: 403, code: -32600, message: "Not for you." } }
        : undefined,
    onRefused: ({ reason, status, era, protocolVersion, sessionId, messages }) =>
      void refused.push({ reason, status, era, protocolVersion, sessionId, messages }),
  }),
});
const auth = authenticate(({ headers }) => (headers.has("x-unknown") ? null : { issuer: "test", subject: "ann" }));
const server = new McpServer({ name: "watched", version: "1.0.0" });
server.tool("secret", {}, () => "secret");

const app = new Hono();
const watched = edge(server, { limits: { batchMax: 2 }, use: [durable(), httpSse(), auth, watching] });
app.route("/", watched);
app.route("/", edge(server, { path: "/stateless", use: [auth, watching] }));
app.route("/", edge(server, { path: "/bounded", use: [limitBytesInFlight({ bytesMax: 1_000 }), auth, watching] }));
app.route("/", edge(server, { path: "/wrong", use: [durable({ className: "Missing" }), auth, watching] }));
app.get("/refused", ({ json }) => json(refused.splice(0)));
export default app;
export class McpObject extends watched.McpObject {}
`;

expectLogs(/^mcp-edge: This server is not configured correctly\./);

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source: SOURCE }, objects: ["McpObject"] });
});
afterAll(() => worker?.stop());

const readRefused = async () => (await (await fetch(worker.url("/refused"))).json()) as Members[];
afterEach(async () => {
  await readRefused();
});

const CONTENT = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const LEGACY = { "mcp-protocol-version": "2025-11-25", "mcp-session-id": "unknown" };
const MODERN = { era: "modern", protocolVersion: "2026-07-28" };

const call = (name: string, text = "") =>
  request("tools/call", { name, arguments: { text }, _meta: meta() }) as Members & { id: number };
const legacyCall = { jsonrpc: "2.0", id: 7, method: "resources/read", params: { uri: "TEST://one" } };

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

async function send({ path = "/mcp", method = "POST", headers = {}, body }: Sent): Promise<number> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const init = { method, headers: { ...CONTENT, ...headers }, ...(body === undefined ? {} : { body: text }) };
  const response = await fetch(worker.url(path), init);
  await response.text();
  return response.status;
}

const modern = call("secret");
const modernHeaders = standardHeaders(modern) as Record<string, string>;
const asked = { method: "tools/call", requestId: modern.id, tool: "secret" };
const read = { method: "resources/read", requestId: 7, uri: "test://one" };

test.each<[string, Sent, Members]>([
  [
    "the era, the version and the tool of a modern call that a plugin refuses",
    { body: modern, headers: modernHeaders },
    { ...MODERN, reason: "secret-tool", status: 403, messages: [asked] },
  ],
  [
    "no session of a modern request, whatever its header says",
    { body: modern, headers: { ...modernHeaders, "mcp-session-id": "unknown" } },
    { ...MODERN, reason: "secret-tool", status: 403, messages: [asked] },
  ],
  [
    "the version in the body of a modern request without a version header",
    { body: call("other") },
    { ...MODERN, reason: "header-mismatch", status: 400, messages: [{ ...asked, tool: "other" }] },
  ],
  [
    "the session, the resource and the version of a legacy request",
    { body: legacyCall, headers: LEGACY },
    {
      era: "legacy",
      protocolVersion: "2025-11-25",
      sessionId: "unknown",
      reason: "session-unknown",
      status: 404,
      messages: [read],
    },
  ],
  [
    "the requested version of initialize",
    { body: { ...initialize(), id: 3 }, headers: { ...LEGACY, "mcp-protocol-version": "2020-01-01" } },
    {
      era: "legacy",
      protocolVersion: "2020-01-01",
      sessionId: "unknown",
      reason: "version-header",
      status: 400,
      messages: [{ method: "initialize", requestId: 3 }],
    },
  ],
  [
    "every request and notification of a batch",
    {
      body: [legacyCall, { jsonrpc: "2.0", method: "notifications/progress", params: {} }],
      headers: { ...LEGACY, "mcp-protocol-version": "2025-03-26" },
    },
    {
      era: "legacy",
      protocolVersion: "2025-03-26",
      sessionId: "unknown",
      reason: "session-unknown",
      status: 404,
      messages: [read, { method: "notifications/progress" }],
    },
  ],
  [
    "no messages of a batch that has too many",
    { body: [legacyCall, legacyCall, legacyCall] },
    { era: "legacy", reason: "batch", status: 400, messages: [] },
  ],
  [
    "the headers of a request whose caller is not authenticated",
    { body: legacyCall, headers: { ...LEGACY, "x-unknown": "1" } },
    {
      era: "legacy",
      protocolVersion: "2025-11-25",
      sessionId: "unknown",
      reason: "unauthorized",
      status: 401,
      messages: [],
    },
  ],
  ["the reason of a body that is not JSON", { body: "{" }, { reason: "not-json", status: 400, messages: [] }],
  [
    "the reason of a message that is not JSON-RPC",
    { body: { id: 1 } },
    { reason: "not-jsonrpc", status: 400, messages: [] },
  ],
  [
    "the session of a GET",
    { method: "GET", headers: { ...LEGACY, accept: "text/event-stream" } },
    {
      era: "legacy",
      protocolVersion: "2025-11-25",
      sessionId: "unknown",
      reason: "session-unknown",
      status: 404,
      messages: [],
    },
  ],
  [
    "the session in the query of an HTTP+SSE client",
    { path: "/mcp?sessionId=unknown", body: legacyCall },
    { era: "legacy", sessionId: "unknown", reason: "session-unknown", status: 404, messages: [read] },
  ],
  [
    "that a body is larger than limitBytesInFlight() admits",
    { path: "/bounded", body: call("secret", "x".repeat(2_000)), headers: modernHeaders },
    { ...MODERN, reason: "body-too-large", status: 413, messages: [] },
  ],
  [
    "that the endpoint is not configured correctly",
    { path: "/wrong", body: modern, headers: modernHeaders },
    { ...MODERN, reason: "misconfigured", status: 500, messages: [] },
  ],
])("onRefused gets %s", async (_, sent, expected) => {
  expect(await send(sent)).toBe(expected.status);
  expect(await readRefused()).toEqual([expected]);
});

test("a request that is served is not reported", async () => {
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect(await send({ path: "/stateless", body: ping, headers: { "mcp-protocol-version": "2025-11-25" } })).toBe(200);
  expect(await readRefused()).toEqual([]);
});
