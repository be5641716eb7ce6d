/**
 * Compatibility across deploys: databases of an older layout, older ids, and a Worker and an object of different
 * versions.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KeyRing } from "../../src/core/seal/key-ring.ts";
import { type Cuttable, progressOf, Session } from "../conformance/support.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { ModernClient, readAnswer } from "./client.ts";

const CLASS = "PlainObject";
const KEYS = newKeys();

let worker: Workerd;
let tap: HttpTap;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/surviving-sessions.ts",
    objects: [CLASS],
    bindings: { MCP_KEYS: KEYS },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/plain/mcp`);
});
afterEach(async () => {
  await tap.close();
  tap.oracle.expectClean();
});

/** Opens a session and finds its object. */
async function open(): Promise<{ session: Session; id: string }> {
  const before = new Set(await worker.worker.objects(CLASS));
  const session = await Session.open(tap.url);
  const [id = ""] = (await worker.worker.objects(CLASS)).filter((each) => !before.has(each));
  return { session, id };
}

let keys = 0;

function newKey(): string {
  keys += 1;
  return `key${keys}`;
}

const release = (key: string) => readAnswer(new ModernClient(tap.url).call("release", { key }));

// Layout 1, as the code of that version wrote it.

const TABLES_1 = [
  "CREATE TABLE IF NOT EXISTS stream (id INTEGER PRIMARY KEY, requests TEXT)",
  "CREATE TABLE IF NOT EXISTS event (stream INTEGER, seq INTEGER, at INTEGER, final INTEGER, frames TEXT, " +
    "PRIMARY KEY (stream, seq)) WITHOUT ROWID",
];
/** Some minutes ago, so that expired data is collected. */
const AT_MS = Date.now() - 20 * 60_000;
/** Streams of calls had even numbers. */
const CALL = AT_MS - (AT_MS % 2);
const OTHER_CALL = CALL + 2;
const OWN = CALL + 1;

function tag(objectId: string): string {
  let hash = 0x811c9dc5;
  for (const character of objectId) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return (hash >>> 0).toString(36);
}

const cursor = (objectId: string, stream: number, seq: number) =>
  `${tag(objectId)}-${stream.toString(36)}-${seq.toString(36)}`;

interface Row1 {
  readonly stream: number;
  /** Number of the first message in the row. */
  readonly from: number;
  readonly messages: readonly object[];
  readonly isFinal?: boolean;
}

const progress = (value: number) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: "old", progress: value },
});
const result = { jsonrpc: "2.0", id: "old", result: { content: [{ type: "text", text: "done" }] } };
const notice = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "waited" } };

/** Writes rows of layout 1 into an object without a log, and evicts it. */
async function fill(id: string, rows: readonly Row1[], session: Session): Promise<void> {
  const params = { name: "count", arguments: {}, _meta: { progressToken: "old" } };
  const hint = { version: "2025-11-25", session: session.id, scope: "before the deploy" };
  tap.oracle.observe("client", { jsonrpc: "2.0", id: "old", method: "tools/call", params }, hint);
  const sql = (query: string, ...values: unknown[]) => worker.worker.sql(CLASS, id, query, ...values);
  for (const table of TABLES_1) await sql(table);
  for (const stream of new Set(rows.map((row) => row.stream))) {
    await sql("INSERT INTO stream VALUES (?, ?)", stream, stream % 2 === 1 ? null : '["old"]');
  }
  for (const { stream, from, messages, isFinal = false } of rows) {
    const frames = messages.map(
      (message, place) =>
        `id: ${cursor(id, stream, from + place)}\nevent: message\ndata: ${JSON.stringify(message)}\n\n`,
    );
    const values = [stream, from + messages.length - 1, AT_MS, isFinal ? 1 : 0, frames.join("")];
    await sql("INSERT INTO event VALUES (?, ?, ?, ?, ?)", ...values);
  }
  await worker.worker.evict(CLASS, id);
}

/** A call that reported 1 and 2 in one turn, then 3, and then ended. */
const FINISHED: readonly Row1[] = [
  { stream: CALL, from: 1, messages: [progress(1), progress(2)] },
  { stream: CALL, from: 3, messages: [progress(3)] },
  { stream: CALL, from: 4, messages: [result], isFinal: true },
];

/** A session id as that version sealed it: bound to no endpoint, without a session number, with its time in minutes. */
async function idOf1(objectId: string): Promise<string> {
  const bytes = new Uint8Array(55);
  bytes.set(Buffer.from(objectId, "hex"), 0);
  const view = new DataView(bytes.buffer);
  view.setUint8(32, 3);
  view.setUint32(51, Math.floor(Date.now() / 60_000) + 60);
  return (await KeyRing.parse(KEYS, "session id")).seal(bytes);
}

describe("a database of layout 1", () => {
  test.each([0, 1, 2, 3])("can be resumed after event %i: the later ones arrive once and in order", async (seen) => {
    const { session, id } = await open();
    await fill(id, FINISHED, session);
    const resumed = await (await session.get(cursor(id, CALL, seen))).end();
    expect(progressOf(resumed.messages)).toEqual([1, 2, 3].slice(seen));
    expect(resumed.messages.at(-1)).toEqual(result);
    expect(resumed.messages).toHaveLength(4 - seen);
    expect((await session.get(cursor(id, CALL, 4))).status).toBe(405);
    const { tables } = await worker.worker.storage(CLASS, id);
    expect(Object.keys(tables).toSorted()).toEqual(["event_2", "stream_2"]);
  });

  test("A23: is not reachable with a session id of that version, which named no endpoint", async () => {
    const { session, id } = await open();
    const sessionId = await idOf1(id);
    const old = new Session(session.url, sessionId, { ...session.headers, "mcp-session-id": sessionId });
    await fill(id, FINISHED, session);
    expect((await readAnswer(old.call("echo", { key: "k" }))).status).toBe(404);
    expect((await old.get(cursor(id, CALL, 2))).status).toBe(404);
  });

  test("reports the interruption to a call that was running", async () => {
    const { session, id } = await open();
    await fill(id, FINISHED.slice(0, 2), session);
    for (let times = 0; times < 2; times += 1) {
      const resumed = await (await session.get(cursor(id, CALL, 1))).end();
      expect(progressOf(resumed.messages)).toEqual([2, 3]);
      expect(resumed.messages.at(-1)).toMatchObject({ id: "old", error: { data: { reason: "interrupted" } } });
      expect(resumed.messages).toHaveLength(3);
    }
  });

  test("continues a stream that belongs to no call", async () => {
    const { session, id } = await open();
    await fill(id, [{ stream: OWN, from: 1, messages: [notice] }], session);
    const resumed = await session.get(cursor(id, OWN, 0));
    await resumed.has("the earlier events", ({ messages }) => messages.some(({ method }) => method === notice.method));
    const said = ({ messages }: Cuttable) => messages.filter(({ method }) => method === notice.method);
    expect(said(resumed)).toEqual([notice]);
    resumed.cut();
  });

  test("accepts new calls beside the old ones", async () => {
    const { session, id } = await open();
    await fill(id, FINISHED, session);
    const key = newKey();
    await release(key);
    const call = await (await session.stream("count", { key, before: 2, after: 1 })).end();
    expect(progressOf(call.messages)).toEqual([1, 2, 3]);
    const resumed = await (await session.get(cursor(id, CALL, 0))).end();
    expect(progressOf(resumed.messages)).toEqual([1, 2, 3]);
    expect(resumed.messages.at(-1)).toEqual(result);
  });

  test("is deleted like any other: nothing of it is left", async () => {
    const { session, id } = await open();
    const running: Row1 = { stream: OTHER_CALL, from: 1, messages: [progress(1)] };
    await fill(id, [...FINISHED, running, { stream: OWN, from: 1, messages: [notice] }], session);
    await session.request("logging/setLevel", { level: "info" });
    expect(await worker.worker.runAlarm(CLASS, id)).toBe(true);
    const left = (await worker.worker.storage(CLASS, id)).tables;
    // The call that was running got its outcome just now.
    expect(left.stream_2).toMatchObject([{ id: OTHER_CALL }]);
    expect(left.event_2).toMatchObject([
      { stream: OTHER_CALL, kind: 0 },
      { stream: OTHER_CALL, kind: 1 },
    ]);
    const resumed = await session.get(cursor(id, CALL, 1));
    expect(resumed.status).toBe(405);
  });
});

describe("an event id of version 0.1", () => {
  test("A1: for a GET stream without events opens another stream, because nothing proves its number", async () => {
    const { session, id } = await open();
    const resumed = await session.get(cursor(id, OWN, 0));
    await resumed.has("the first event id", ({ ids }) => ids.length > 0);
    const [, number = ""] = resumed.ids[0]?.split("-") ?? [];
    expect(Number.parseInt(number, 36)).toBeGreaterThan(OWN);
    resumed.cut();
  });

  test("A1: is refused on the stream of another session of the object", async () => {
    const { session, id } = await open();
    await fill(id, FINISHED, session);
    // Migrates the log to the current layout.
    expect((await session.get(cursor(id, CALL, 4))).status).toBe(405);
    await worker.worker.sql(CLASS, id, "UPDATE stream_2 SET session = 7");
    expect((await session.get(cursor(id, CALL, 0))).status).toBe(400);
  });
});

describe("a Worker older than its object", () => {
  const caller = {
    endpoint: "/plain/mcp",
    versionIndex: 3,
    capabilityBits: 0,
    principalHash: "0".repeat(32),
    isOpenedAnonymously: true,
    expiresAtMs: Date.now() + 3_600_000,
  };

  /** Opens a socket as that Worker would. */
  async function dial(id: string | undefined, attach: object) {
    const query = new URLSearchParams({ attach: encodeURIComponent(JSON.stringify(attach)), ...(id && { id }) });
    const socket = new WebSocket(`${worker.origin.replace("http", "ws")}/raw/${CLASS}?${query}`);
    const heard: string[] = [];
    let isClosed = false;
    socket.addEventListener("message", ({ data }) => heard.push(String(data)));
    socket.addEventListener("close", () => {
      isClosed = true;
    });
    return { socket, heard, isClosed: () => isClosed };
  }

  const kindsOf = (heard: readonly string[]) => heard.map((text) => JSON.parse(text.split("\n")[0] ?? "").kind);

  test("sends no session number, and gets the session of its object", async () => {
    const { session, id } = await open();
    await fill(id, FINISHED, session);
    const { heard } = await dial(id, { caller, target: { kind: "resume", lastEventId: cursor(id, CALL, 2) } });
    await until("the stream is over", () => kindsOf(heard).includes("final"));
    expect(kindsOf(heard)).toEqual(["hello", "events", "final"]);
    expect(heard.at(-1)).toContain(JSON.stringify(result));
    expect((await session.request("ping")).status).toBe(200);
  });

  test.each(["", "?", "taken 5", "t", "t-1", "t1e999", '{"kind":"novelty"}', "x".repeat(10_000)])(
    "sends %j: it has no effect, and the stream continues",
    async (words) => {
      const { session, id } = await open();
      const key = newKey();
      const call = await session.stream("count", { key, before: 1, after: 2 });
      await call.has("an event", ({ messages }) => messages.length > 0);
      const [first = ""] = call.ids;
      const again = { caller: { ...caller, novelty: 1 }, target: { kind: "resume", lastEventId: first }, novelty: [] };
      const { socket, heard } = await dial(id, again);
      await until("it is greeted", () => kindsOf(heard).includes("events"));
      socket.send(words);
      socket.send(new Uint8Array(8));
      await release(key);
      await until("the stream is over", () => kindsOf(heard).includes("final"));
      expect(heard.join("").match(/notifications\/progress/g)).toHaveLength(3);
    },
  );

  test("requests a stream of an unknown kind: it is refused without further effect", async () => {
    const { session, id } = await open();
    const { heard, isClosed } = await dial(id, { caller, target: { kind: "novelty" } });
    await until("it is refused", isClosed);
    expect(heard).toEqual([]);
    expect((await session.request("ping")).status).toBe(200);
  });
});

describe("an object newer than its Worker", () => {
  test("sends a message that the Worker does not know, and the client gets the rest", async () => {
    const { session, id } = await open();
    const key = newKey();
    const call = await session.stream("count", { key, before: 1, after: 2 });
    await call.has("an event", ({ messages }) => messages.length > 0);
    for (const words of ['{"kind":"novelty","stream":7}\n', '{"kind":"begun","novelty":true}\n']) {
      await fetch(`${worker.origin}/say/${CLASS}/${id}`, { method: "POST", body: words });
    }
    await release(key);
    await call.end();
    expect(progressOf(call.messages)).toEqual([1, 2, 3]);
    expect(call.messages.at(-1)).toMatchObject({ result: { content: [{ text: key }] } });
  });
});
