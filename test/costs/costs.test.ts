import { afterAll, beforeAll, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";

let worker: Workerd;
let tap: HttpTap;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/costs/worker.ts",
    objects: { MCP_SESSION: "McpSession", MCP_HUB: "McpHub" },
    bindings: { MCP_KEYS: newKeys() },
  });
  tap = await startHttpTap(`${worker.origin}/mcp`);
});
afterAll(async () => {
  await tap.close();
  await worker.stop();
  tap.oracle.expectClean();
});

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

function send(message: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(tap.url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
}

/** What was asked of objects since the last time, and what the last used object has stored. */
async function costs(): Promise<{ objectRequests: number; stored?: { keys: number; rows: number; alarm: boolean } }> {
  return (await fetch(`${worker.origin}/costs`)).json() as Promise<{ objectRequests: number }>;
}

async function open(headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const clientInfo = { name: "costs", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const opened = await send({ id: 0, method: "initialize", params }, headers);
  await opened.text();
  return { ...headers, "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
}

const NOTHING = { keys: 0, rows: 0, alarm: false };

test("a modern call asks nothing of any object", async () => {
  await costs();
  const headers = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "plain" };
  const called = await send({ id: 1, method: "tools/call", params: { name: "plain", _meta: META } }, headers);
  expect((await called.json()) as object).toMatchObject({ result: { content: [{ text: "done" }] } });
  expect((await costs()).objectRequests).toBe(0);
});

test("initialize asks nothing of any object", async () => {
  await costs();
  await open();
  expect((await costs()).objectRequests).toBe(0);
});

test("a foreign session id asks nothing of any object", async () => {
  const session = await open({ "X-Subject": "alice" });
  await costs();
  const foreign = await send({ id: 1, method: "ping" }, { ...session, "X-Subject": "bob" });
  const forged = await send({ id: 1, method: "ping" }, { "Mcp-Session-Id": `${"A".repeat(124)}` });
  expect([foreign.status, forged.status]).toEqual([404, 404]);
  expect((await costs()).objectRequests).toBe(0);
});

test.each([
  ["ping", { method: "ping" }],
  ["tools/list", { method: "tools/list" }],
  ["a call answered as JSON", { method: "tools/call", params: { name: "plain" } }],
])("a legacy %s asks one thing of its object and stores nothing", async (_, message) => {
  const session = await open();
  await costs();
  await (await send({ id: 1, ...message }, session)).text();
  expect(await costs()).toEqual({ objectRequests: 1, stored: NOTHING });
});

test("a legacy call answered as SSE asks two things of its object; its 1,000 events of one turn are one row", async () => {
  const session = await open();
  await costs();
  const params = { name: "telling", _meta: { progressToken: 1 } };
  const told = await (await send({ id: 1, method: "tools/call", params }, session)).text();
  expect(told.match(/notifications\/progress/g)).toHaveLength(1_000);
  // The stream, its events, and its answer.
  expect(await costs()).toEqual({ objectRequests: 2, stored: { keys: 0, rows: 3, alarm: true } });
});

test("a GET stream asks one thing of its object and stores nothing, while it waits as well", async () => {
  const session = await open();
  await costs();
  const leave = new AbortController();
  const headers = { ...session, Accept: "text/event-stream" };
  expect((await fetch(tap.url, { headers, signal: leave.signal })).status).toBe(200);
  expect(await costs()).toEqual({ objectRequests: 1, stored: NOTHING });
  leave.abort();
});

test("DELETE asks one thing of the object and leaves one row and an alarm", async () => {
  const session = await open();
  await costs();
  await fetch(tap.url, { method: "DELETE", headers: session });
  expect(await costs()).toEqual({ objectRequests: 1, stored: { keys: 1, rows: 0, alarm: true } });
});

test("an anonymous session leaves one row and an alarm when a principal first uses it, and no more after", async () => {
  const session = { ...(await open()), "X-Subject": "alice" };
  await costs();
  await (await send({ id: 1, method: "ping" }, session)).text();
  await (await send({ id: 2, method: "ping" }, session)).text();
  expect(await costs()).toEqual({ objectRequests: 2, stored: { keys: 1, rows: 0, alarm: true } });
});
