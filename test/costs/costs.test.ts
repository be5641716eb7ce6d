import { afterAll, beforeAll, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { until } from "../http/wire.ts";
import { HTTP_PEERS } from "../interop/peers.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { Reading } from "../worker/client.ts";
import type { Counts } from "./counted.ts";

let worker: Workerd;
let tap: HttpTap;
let brief: HttpTap;
let quiet: HttpTap;
/** The counts, printed as a table at the end. */
const table: Record<string, Counts> = {};
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/costs/worker.ts",
    objects: { MCP: "McpObject", BRIEF: "BriefObject", QUIET: "QuietObject" },
    bindings: { MCP_KEYS: newKeys() },
  });
  tap = await startHttpTap(`${worker.origin}/mcp`);
  brief = await startHttpTap(`${worker.origin}/brief/mcp`, { oracle: tap.oracle });
  quiet = await startHttpTap(`${worker.origin}/quiet/mcp`, { oracle: tap.oracle });
});
afterAll(async () => {
  await tap.close();
  await brief.close();
  await quiet.close();
  await worker.stop();
  tap.oracle.expectClean();
});

const MODERN = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};

function send(message: object, headers: Record<string, string> = {}, url = tap.url): Promise<Response> {
  return fetch(url, post(message, headers));
}

function post(message: object, headers: Record<string, string>): RequestInit {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  };
}

interface Costs {
  /** Counts since the previous call. */
  readonly counts: Counts;
  /** The storage of the object that was used last. */
  readonly stored?: { readonly keys: number; readonly rows: number; readonly alarm: boolean };
}

async function costs(): Promise<Costs> {
  return (await fetch(`${worker.origin}/costs`)).json() as Promise<Costs>;
}

/** Returns the counts without accessing an object, which would wake it. */
async function counted(): Promise<Counts> {
  return (await fetch(`${worker.origin}/counts`)).json() as Promise<Counts>;
}

/** Measures the costs of `run` and adds them to the table. */
async function costsOf(what: string, run: () => Promise<unknown>): Promise<Costs> {
  await costs();
  await run();
  const found = await costs();
  table[what] = found.counts;
  return found;
}

async function open(headers: Record<string, string> = {}, url = tap.url): Promise<Record<string, string>> {
  const clientInfo = { name: "costs", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: { roots: {} }, clientInfo };
  const opened = await send({ id: 0, method: "initialize", params }, headers, url);
  await opened.text();
  return { ...headers, "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
}

function get(session: Record<string, string>, signal?: AbortSignal, url = tap.url): Promise<Response> {
  return fetch(url, { headers: { ...session, Accept: "text/event-stream" }, ...(signal ? { signal } : {}) });
}

async function call(name: string, session: Record<string, string>, url = tap.url): Promise<string> {
  return (
    await send({ id: 1, method: "tools/call", params: { name, _meta: { progressToken: 1 } } }, session, url)
  ).text();
}

const progressIn = (text: string) => text.match(/notifications\/progress/g)?.length;

const FREE: Counts = { requests: 0, hubRequests: 0, messages: 0, alarms: 0, wakes: 0, rowsRead: 0, rowsWritten: 0 };
const NOTHING = { keys: 0, rows: 0, alarm: false };

test("a modern call makes no object request", async () => {
  const headers = { "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "plain" };
  const { counts } = await costsOf("modern call", async () => {
    const called = await send({ id: 1, method: "tools/call", params: { name: "plain", _meta: META } }, headers);
    expect((await called.json()) as object).toMatchObject({ result: { content: [{ text: "done" }] } });
  });
  expect(counts).toEqual(FREE);
});

test("initialize makes no object request", async () => {
  expect((await costsOf("initialize", open)).counts).toEqual(FREE);
});

const INITIALIZED = { method: "notifications/initialized" };

test("initialize, initialized and the first call make one object request", async () => {
  const { counts, stored } = await costsOf("initialize, initialized and the first call", async () => {
    const session = await open();
    expect((await send(INITIALIZED, session)).status).toBe(202);
    expect(await call("plain", session)).toContain("done");
  });
  expect(counts).toEqual({ ...FREE, requests: 1, wakes: 1, rowsRead: 2 });
  expect(stored).toEqual(NOTHING);
});

test("initialized of a principal binds the session that was opened anonymously", async () => {
  const session = await open();
  const found = await costsOf("initialized, binding to a principal", () =>
    send(INITIALIZED, { ...session, "X-Subject": "alice" }),
  );
  expect(found.counts).toMatchObject({ requests: 1, rowsWritten: 2 });
  expect((await send({ id: 1, method: "ping" }, { ...session, "X-Subject": "bob" })).status).toBe(404);
});

test("a foreign session id makes no object request", async () => {
  const session = await open({ "X-Subject": "alice" });
  const { counts } = await costsOf("foreign or forged session id", async () => {
    const foreign = await send({ id: 1, method: "ping" }, { ...session, "X-Subject": "bob" });
    const forged = await send({ id: 1, method: "ping" }, { "Mcp-Session-Id": `${"A".repeat(124)}` });
    expect([foreign.status, forged.status]).toEqual([404, 404]);
  });
  expect(counts).toEqual(FREE);
});

test.each([
  ["ping", { method: "ping" }],
  ["tools/list", { method: "tools/list" }],
  ["tools/call, with a JSON response", { method: "tools/call", params: { name: "plain" } }],
])("a legacy %s makes one request to its object and stores nothing", async (what, message) => {
  const session = await open();
  const first = await costsOf(`${what}, first`, async () => (await send({ id: 1, ...message }, session)).text());
  // Reads whether the session has ended, and whether the object waited for a deploy with its role.
  expect(first).toEqual({ counts: { ...FREE, requests: 1, wakes: 1, rowsRead: 2 }, stored: NOTHING });
  const next = await costsOf(`${what}, next`, async () => (await send({ id: 2, ...message }, session)).text());
  expect(next).toEqual({ counts: { ...FREE, requests: 1 }, stored: NOTHING });
});

test("a legacy call with an SSE response makes two requests to its object, and 1,000 events of one turn are one row", async () => {
  const session = await open();
  const found = await costsOf("call with 1,000 events in one turn", async () => {
    expect(progressIn(await call("telling", session))).toBe(1_000);
  });
  // The stream, its events, and its result; the first stream of a session also writes two tables and the alarm.
  expect(found.stored).toEqual({ keys: 0, rows: 3, alarm: true });
  expect(found.counts).toMatchObject({ requests: 2, messages: 0, alarms: 0, rowsWritten: 6 });
  const next = await costsOf("a second one of the session", () => call("telling", session));
  expect(next.counts).toMatchObject({ requests: 2, messages: 0, alarms: 0, rowsWritten: 3 });
  for (const { counts } of [found, next]) expect(counts.rowsRead).toBeLessThan(20);
});

test("1,000 events in 20 bursts are 20 rows", async () => {
  const session = await open();
  const found = await costsOf("call with 1,000 events in 20 bursts", async () => {
    expect(progressIn(await call("bursting", session))).toBe(1_000);
  });
  expect(found.stored).toEqual({ keys: 0, rows: 22, alarm: true });
  expect(found.counts).toMatchObject({ requests: 2, messages: 0, alarms: 0, rowsWritten: 25 });
  // Read at most once more, by a Worker that attaches after all events were sent.
  expect(found.counts.rowsRead).toBeLessThan(40);
});

test("1,000 events with an await between them are at most 10 rows, and more than one", async () => {
  const session = await open();
  const found = await costsOf("call with 1,000 events in 1,000 turns", async () => {
    expect(progressIn(await call("awaiting", session))).toBe(1_000);
  });
  expect(found.stored?.rows).toBeLessThanOrEqual(10);
  // The stream, the first event, and the answer are rows too.
  expect(found.stored?.rows).toBeGreaterThan(4);
});

test("200 events with a zero timer between them are at most one row per 10 ms", { tags: "long" }, async () => {
  const session = await open();
  const startedAtMs = Date.now();
  const found = await costsOf("call with 200 events in as many timers", async () => {
    expect(progressIn(await call("timed", session))).toBe(200);
  });
  // The stream, the first event, and the answer are rows too.
  expect(found.stored?.rows).toBeLessThanOrEqual((Date.now() - startedAtMs) / 10 + 3);
});

test.each([
  ["one turn", "telling", 4],
  ["20 bursts", "bursting", 23],
])(
  "resuming 1,000 events of %s makes one request to the object and reads its rows once",
  async (how, name, rowsRead) => {
    const session = await open();
    const [first = ""] = /(?<=^id: ).*/m.exec(await call(name, session)) ?? [];
    const { counts } = await costsOf(`resumption of 1,000 events of ${how}`, async () => {
      const resumed = await (await get({ ...session, "Last-Event-ID": first })).text();
      expect(progressIn(resumed)).toBe(1_000);
    });
    expect(counts).toEqual({ ...FREE, requests: 1, rowsRead });
  },
);

test("a GET stream makes one request to its object and stores nothing, even while it waits", async () => {
  const session = await open();
  const leave = new AbortController();
  const found = await costsOf("GET stream", async () => {
    expect((await get(session, leave.signal)).status).toBe(200);
  });
  // The Worker reports once that it is connected to the hub.
  expect(found.counts).toEqual({ ...FREE, requests: 1, hubRequests: 1, messages: 1, wakes: 1, rowsRead: 2 });
  expect(found.stored).toEqual(NOTHING);
  leave.abort();
});

test.each(HTTP_PEERS.filter(({ version }) => version < MODERN).map((peer) => [peer.name, peer] as const))(
  "a released client (%s) that connects, opens its stream, lists and calls makes three requests to the object and one to the hub, and stores nothing",
  async (name, { connect }) => {
    const before = tap.exchanges.length;
    await costs();
    const { client, end } = await connect(new URL(tap.url));
    const isStreaming = () => tap.exchanges.slice(before).some((each) => each.method === "GET" && each.status === 200);
    await until("the client has opened its stream", isStreaming);
    await client.listTools();
    await client.callTool({ name: "plain", arguments: {} });
    const { counts, stored } = await costs();
    table[`connect, list and call with ${name}`] = counts;
    expect(counts).toEqual({ ...FREE, requests: 3, hubRequests: 1, messages: 1, wakes: 1, rowsRead: 2 });
    expect(stored).toEqual(NOTHING);
    await end();
  },
);

test("a GET at a server that sends nothing outside of calls gets 405 and makes no object request", async () => {
  const session = await open({}, quiet.url);
  const { counts } = await costsOf("GET without anything to send", async () => {
    const refused = await get(session, undefined, quiet.url);
    expect(refused.status).toBe(405);
    expect(refused.headers.get("Allow")).toBe("POST, DELETE");
    expect(await refused.json()).toMatchObject({ error: { data: { reason: "no-stream" } } });
  });
  expect(counts).toEqual(FREE);
});

test("an idle GET stream lets its object hibernate: hundreds of heartbeats make no request to it", {
  tags: "long",
}, async () => {
  const session = await open();
  const leave = new AbortController();
  const stream = new Reading(await get(session, leave.signal));
  await stream.has("heartbeats", ({ comments }) => comments.length > 2);
  await counted();
  // Objects hibernate after 10 s; an earlier request would keep the object awake.
  await new Promise((resolve) => setTimeout(resolve, 13_000));
  table["GET stream, idle for 13 s"] = await counted();
  expect(stream.comments.length).toBeGreaterThan(100);
  expect(table["GET stream, idle for 13 s"]).toEqual(FREE);
  // The next request has to wake it, which shows that it hibernated.
  await (await send({ id: 1, method: "ping" }, session)).text();
  expect(await counted()).toMatchObject({ requests: 1, wakes: 1, rowsWritten: 0 });
  expect(stream.isOver).toBe(false);
  leave.abort();
});

test("a question makes three requests to the object, and writes one row besides the rows of the stream and its result", async () => {
  const session = await open();
  await call("telling", session);
  const { counts } = await costsOf("call with a question", async () => {
    const asked = send({ id: 1, method: "tools/call", params: { name: "asking" } }, session);
    const stream = new Reading(await asked);
    await stream.has("the question", ({ messages }) => messages.length > 0);
    const answer = { id: stream.messages[0]?.id, result: { roots: [] } };
    expect((await send(answer, session)).status).toBe(202);
    await stream.has("the answer", ({ isOver }) => isOver);
  });
  expect(counts).toMatchObject({ requests: 3, messages: 0, alarms: 0, rowsWritten: 3 });
});

test("DELETE makes one request to the object and leaves one row and an alarm", async () => {
  const session = await open();
  const found = await costsOf("DELETE", () => fetch(tap.url, { method: "DELETE", headers: session }));
  expect(found.stored).toEqual({ keys: 1, rows: 0, alarm: true });
  expect(found.counts).toEqual({ ...FREE, requests: 1, wakes: 1, rowsRead: 5, rowsWritten: 2 });
});

test.each([
  ["logging/setLevel", { method: "logging/setLevel", params: { level: "info" } }],
  ["resources/subscribe", { method: "resources/subscribe", params: { uri: "test://a" } }],
])("%s writes a row and the alarm, and nothing when repeated", async (what, message) => {
  const session = await open();
  const found = await costsOf(what, async () => (await send({ id: 1, ...message }, session)).text());
  expect(found.stored).toEqual({ keys: 1, rows: 0, alarm: true });
  expect(found.counts).toEqual({ ...FREE, requests: 1, wakes: 1, rowsRead: 2, rowsWritten: 2 });
  const again = await costsOf(`${what}, again`, async () => (await send({ id: 2, ...message }, session)).text());
  expect(again.counts).toEqual({ ...FREE, requests: 1 });
});

test("an anonymous session stores one row and an alarm when a principal first uses it, and nothing more afterwards", async () => {
  const session = { ...(await open()), "X-Subject": "alice" };
  const found = await costsOf("binding to a principal", async () => {
    await (await send({ id: 1, method: "ping" }, session)).text();
    await (await send({ id: 2, method: "ping" }, session)).text();
  });
  expect(found.stored).toEqual({ keys: 1, rows: 0, alarm: true });
  expect(found.counts).toMatchObject({ requests: 2, rowsWritten: 2 });
});

// The last tests move the clock.

test("an abandoned session that stored everything possible ends without rows and alarms, and never wakes again", {
  tags: "long",
}, async () => {
  const session = await open({}, brief.url);
  await costs();
  await (await send({ id: 1, method: "logging/setLevel", params: { level: "info" } }, session, brief.url)).text();
  await (await send({ id: 2, method: "resources/subscribe", params: { uri: "test://a" } }, session, brief.url)).text();
  expect(progressIn(await call("bursting", session, brief.url))).toBe(1_000);
  const used = await costs();
  expect(used.stored).toEqual({ keys: 1, rows: 22, alarm: true });
  const total = await counted();
  await until("its time is over", async () => {
    await worker.worker.advance(5_000);
    const { counts, stored } = await costs();
    for (const [what, by] of Object.entries(counts)) total[what as keyof Counts] += by;
    return stored?.alarm === false;
  });
  table["an abandoned session's end"] = total;
  expect((await costs()).stored).toEqual(NOTHING);
  expect(total.requests).toBe(0);
  expect(total.alarms).toBeLessThanOrEqual(4);
});

test("initialized renews a session that is about to end", async () => {
  const session = await open({}, quiet.url);
  await worker.worker.advance(10_000);
  const { counts } = await costsOf("initialized, renewing", () => send(INITIALIZED, session, quiet.url));
  expect(counts).toMatchObject({ requests: 1, rowsWritten: 2 });
});

test("initialized makes an object request when the session is a minute old, so that a deleted session causes 404", async () => {
  const session = await open();
  expect((await fetch(tap.url, { method: "DELETE", headers: session })).status).toBe(204);
  await worker.worker.advance(61_000);
  const { counts } = await costsOf("initialized after a minute", async () => {
    expect((await fetch(`${worker.origin}/mcp`, post(INITIALIZED, session))).status).toBe(404);
  });
  expect(counts).toMatchObject({ requests: 1 });
});
