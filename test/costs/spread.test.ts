// @module-tag long
/**
 * Keys, once and tasks: no object serves every request of the world. A cold isolate asks the object of the keys once, and a
 * warm one never; every other object belongs to one session, one call or one task.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Workerd } from "../harness/workerd.ts";
import { until } from "../http/wire.ts";

const KEYS = "keys:sealing";
const MANY = 60;
const MODERN = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({ entry: "test/costs/spread-worker.ts", objects: { MCP: "McpObject" } });
});
afterAll(() => worker?.stop());
/** Each test begins with a cold isolate. What the objects store stays. */
beforeEach(() => worker.killAndRestart());

interface Members {
  readonly [name: string]: unknown;
}

async function post(headers: Record<string, string>, message: object): Promise<Response> {
  const response = await fetch(`${worker.origin}/mcp`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
  expect(response.status).toBe(200);
  return response;
}

async function modern(method: string, params: Members, name: string): Promise<Members> {
  const headers = { "MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": name };
  const { _meta = {} } = params as { _meta?: Members };
  const message = { method, params: { ...params, _meta: { ...META, ..._meta } } };
  return ((await (await post(headers, message)).json()) as { result: Members }).result;
}

async function openSession(): Promise<Record<string, string>> {
  const clientInfo = { name: "spread", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const opened = await post({}, { method: "initialize", params });
  await opened.text();
  return { "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
}

/** Requests to each object since the previous call, most first. */
async function requests(): Promise<{ keys: number; others: number[] }> {
  const found = (await (await fetch(`${worker.origin}/requests`)).json()) as Record<string, number>;
  const { [KEYS]: keys = 0, ...others } = found;
  return { keys, others: Object.values(others).sort((a, b) => b - a) };
}

const many = <T>(run: (place: number) => Promise<T>) => Promise.all(Array.from({ length: MANY }, (_, at) => run(at)));

test("a cold isolate makes one request to the keys object for many sessions, and a warm isolate makes none", async () => {
  const opened = await many(openSession);
  expect(await requests()).toEqual({ keys: 1, others: [] });
  for (const session of opened) await post(session, { method: "ping" });
  // One request to the object of each session.
  expect(await requests()).toEqual({ keys: 0, others: opened.map(() => 1) });
  await worker.killAndRestart();
  await many((at) => post(opened[at] ?? {}, { method: "ping" }));
  expect(await requests()).toEqual({ keys: 1, others: opened.map(() => 1) });
});

test("each call of a principal that runs once has its own object, which gets requests only from repetitions of the call", async () => {
  const book = (at: number) => {
    const _meta = { "mcp-edge/idempotencyKey": `booking-${at}` };
    return modern("tools/call", { name: "booking", arguments: {}, _meta }, "booking");
  };
  await many(book);
  const first = await requests();
  expect(first.keys).toBeLessThanOrEqual(1);
  expect(first.others).toEqual(Array.from({ length: MANY }, () => 1));
  for (let repeat = 0; repeat < 3; repeat += 1) await book(0);
  expect(await requests()).toEqual({ keys: 0, others: [3] });
});

test("each task has its own object, which gets only requests for this task", async () => {
  const started = await many(() => modern("tools/call", { name: "long", arguments: {} }, "long"));
  const first = await requests();
  expect(first.keys).toBeLessThanOrEqual(1);
  expect(first.others).toEqual(started.map(() => 1));
  const taskId = String(started[0]?.taskId);
  let asked = 0;
  await until("the task has ended", async () => {
    asked += 1;
    return (await modern("tasks/get", { taskId }, taskId)).status === "completed";
  });
  expect(await requests()).toEqual({ keys: 0, others: [asked] });
});

test("plain calls of modern clients make no object requests, even in a cold isolate", async () => {
  await many(() => modern("tools/call", { name: "plain", arguments: {} }, "plain"));
  expect(await requests()).toEqual({ keys: 0, others: [] });
});
