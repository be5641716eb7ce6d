/** Resumability. */
import { describe, expect, test } from "vitest";
import { request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { readAnswer } from "../worker/client.ts";
import { type Cuttable, idOf, newKey, progressOf, Session, useLab } from "./support.ts";

const lab = useLab();

/** Versions of Streamable HTTP with sessions. */
const VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25"] as const;

const cursorsOf = (stream: Cuttable): string[] => stream.events.flatMap(({ id }) => id ?? []);

/** The events that carry a message, which a replay repeats. */
const framesOf = (stream: Cuttable) => stream.events.filter(({ data }) => data !== "");

/** A call that reported 1, 2, 3 and has finished. */
async function finished(session: Session, id = newKey()): Promise<Cuttable> {
  const key = newKey();
  await lab.tool("free", { key });
  return (await session.stream("count", { key, before: 2, after: 1 }, id)).end();
}

/** A call that reported 1 and 2, lost its connection, and is still running. */
async function interrupted(session: Session, key: string, id = newKey()): Promise<Cuttable> {
  const stream = await session.stream("count", { key, before: 2, after: 1 }, id);
  await stream.has("two events", ({ messages }) => messages.length === 2);
  stream.cut();
  return stream;
}

describe.each(VERSIONS)("a resumed stream (%s)", (version) => {
  test("repeats the events after the given one byte for byte, for each event of a finished stream", async () => {
    const session = await Session.open(await lab.url(), { version });
    const stream = await finished(session);
    const frames = framesOf(stream);
    expect(progressOf(stream.messages)).toEqual([1, 2, 3]);
    expect(frames).toHaveLength(4);
    for (const [at, { id }] of frames.slice(0, -1).entries()) {
      const resumed = await (await session.get(id)).end();
      expect(resumed.status).toBe(200);
      expect(framesOf(resumed)).toEqual(frames.slice(at + 1));
    }
  });

  test("carries missed events first, then new ones, then the response and the end", async () => {
    const session = await Session.open(await lab.url(), { version });
    const [key, id] = [newKey(), newKey()];
    const stream = await interrupted(session, key, id);
    const resumed = await session.get(idOf(stream.raw, (message) => message.method !== undefined));
    await resumed.has("the missed events", ({ messages }) => messages.length === 1);
    await lab.tool("free", { key });
    await resumed.end();
    expect(progressOf(resumed.messages)).toEqual([2, 3]);
    expect(resumed.messages.at(-1)).toMatchObject({ id, result: { content: [{ text: key }] } });
    expect(resumed.messages).toHaveLength(3);
  });

  test("has event ids that are unique in its session, and short visible ASCII", async () => {
    const session = await Session.open(await lab.url(), { version });
    const standalone = [await session.get(), await session.get()];
    const calls = await Promise.all(Array.from({ length: 5 }, () => finished(session)));
    const ids = [...standalone, ...calls].flatMap(cursorsOf);
    expect(ids.length).toBeGreaterThanOrEqual(calls.length * 4);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{1,64}$/);
    for (const stream of standalone) stream.cut();
  });

  test("carries no event of a concurrent call", async () => {
    const session = await Session.open(await lab.url(), { version });
    const [key, left, right] = [newKey(), newKey(), newKey()];
    const streams = await Promise.all([interrupted(session, key, left), interrupted(session, key, right)]);
    await lab.tool("free", { key });
    const [first, second] = await Promise.all(
      streams.map(async (stream) => (await session.get(cursorsOf(stream).at(-1))).end()),
    );
    for (const [resumed, id] of [
      [first, left],
      [second, right],
    ] as const) {
      expect(resumed?.messages).toMatchObject([{ params: { progressToken: id, progress: 3 } }, { id }]);
    }
  });
});

describe("invalid event ids", () => {
  test("an invalid event id is refused with 400, and does not affect the session", async () => {
    const session = await Session.open(await lab.url());
    const known = framesOf(await finished(session))[0]?.id ?? "";
    const garbage = [
      "garbage",
      "0",
      "-1",
      "null",
      known.slice(1),
      `x${known}`,
      `${known}!`,
      `${known}-1`,
      "é",
      "x".repeat(5_000),
    ];
    for (const id of garbage) {
      const stream = await session.get(encodeLatin1(id));
      expect([id, stream.status]).toEqual([id, 400]);
    }
    expect((await session.request("ping")).status).toBe(200);
    expect((await session.get(known)).status).toBe(200);
  });

  test("an event id of another session is refused with 400, and nothing is replayed", async () => {
    const [own, other] = [await Session.open(await lab.url()), await Session.open(await lab.url())];
    const stream = await finished(own);
    for (const { id } of stream.events) expect((await other.get(id)).status).toBe(400);
    expect((await own.get(stream.events[0]?.id)).status).toBe(200);
  });

  test("an event id of a deleted session is refused with 404, like every request of the session", async () => {
    const session = await Session.open(await lab.url());
    const stream = await finished(session);
    await session.delete();
    expect((await session.get(stream.events[0]?.id)).status).toBe(404);
  });
});

/** Headers carry bytes, so characters beyond ASCII are sent as Latin-1. */
function encodeLatin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

describe("replay after a restart", () => {
  test("is complete for a finished stream", { tags: "long" }, async () => {
    const session = await Session.open(await lab.url());
    const stream = await finished(session);
    await lab.worker.killAndRestart();
    const resumed = await (await session.with({}, await lab.url()).get(stream.events[0]?.id)).end();
    expect(framesOf(resumed)).toEqual(framesOf(stream));
  });

  test("ends a call that was lost with its object with an error after its earlier events", {
    tags: "long",
  }, async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const stream = await session.stream("count", { key, before: 3, after: 1 }, id);
    await stream.has("three events", ({ messages }) => messages.length === 3);
    await lab.worker.killAndRestart();
    const again = session.with({}, await lab.url());
    const resumed = await (await again.get(framesOf(stream)[0]?.id)).end();
    expect(framesOf(resumed).slice(0, 2)).toEqual(framesOf(stream).slice(1));
    expect(resumed.messages).toHaveLength(3);
    expect(resumed.messages[2]).toMatchObject({ id, error: { code: -32603, data: { reason: "interrupted" } } });
    // The error is stored: resuming again gives the same events.
    expect(framesOf(await (await again.get(framesOf(stream)[0]?.id)).end())).toEqual(framesOf(resumed));
    const ids = [...framesOf(stream), ...framesOf(resumed).slice(2)].map((event) => event.id);
    expect(new Set(ids).size).toBe(4);
  });

  test("is followed by event ids that differ from those before", { tags: "long" }, async () => {
    const session = await Session.open(await lab.url());
    const before = cursorsOf(await finished(session));
    await lab.worker.killAndRestart();
    const after = cursorsOf(await finished(session.with({}, await lab.url())));
    expect(after.length).toBeGreaterThanOrEqual(4);
    expect(new Set([...before, ...after]).size).toBe(before.length + after.length);
  });
});

describe("a resumed GET stream", () => {
  test("continues after the cursor and does not carry results of calls", async () => {
    const session = await Session.open(await lab.url());
    await session.request("resources/subscribe", { uri: "test://watched" });
    const first = await session.get();
    await first.has("a cursor", ({ raw }) => raw.includes("id:"));
    first.cut();
    expect((await readAnswer(session.call("echo", { key: "beside" }))).text).toBe("beside");
    const resumed = await session.get(cursorsOf(first).at(-1));
    expect(resumed.status).toBe(200);
    await until("the resumed stream gets the update", async () => {
      await lab.tool("touch");
      return resumed.messages.length > 0;
    });
    const methods = new Set(resumed.messages.map(({ method }) => method));
    expect(methods).toContain("notifications/resources/updated");
    expect(methods).not.toContain(undefined);
    resumed.cut();
  });

  test("carries an update that was sent between the two streams", async () => {
    const session = await Session.open(await lab.url());
    await session.request("resources/subscribe", { uri: "test://watched" });
    const first = await session.get();
    await first.has("a cursor", ({ raw }) => raw.includes("id:"));
    first.cut();
    await lab.tool("touch");
    const resumed = await session.get(cursorsOf(first).at(-1));
    const updated = ({ messages }: Cuttable) =>
      messages.some(({ method }) => method === "notifications/resources/updated");
    await resumed.has("the update", () => updated(resumed));
    resumed.cut();
  });
});

describe("each event", () => {
  test("is sent on only one connection when a stream is resumed while the old connection is open", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const old = await session.stream("count", { key, before: 2, after: 1 }, id);
    await old.has("two events", ({ messages }) => messages.length === 2);
    const resumed = await session.get(cursorsOf(old).at(-1));
    expect(resumed.status).toBe(200);
    await old.end();
    await lab.tool("free", { key });
    await resumed.end();
    expect(progressOf(resumed.messages)).toEqual([3]);
    expect(resumed.messages.at(-1)).toMatchObject({ id });
    expect(progressOf(old.messages)).toEqual([1, 2]);
    expect(old.messages).toHaveLength(2);
  });

  test("reaches a client that is cut off after each event once and in order", async () => {
    const session = await Session.open(await lab.url());
    const stream = await finished(session);
    const seen: string[] = [];
    let cursor = stream.events[0]?.id;
    for (let hop = 0; hop < 4; hop += 1) {
      const resumed = await session.get(cursor);
      await resumed.has("an event", () => framesOf(resumed).length > 0);
      resumed.cut();
      cursor = framesOf(resumed)[0]?.id;
      seen.push(framesOf(resumed)[0]?.data ?? "");
    }
    expect(seen).toEqual(framesOf(stream).map(({ data }) => data));
  });

  test("is sent on only one of six streams that resume at once, and the other five end without it", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const old = await interrupted(session, key, id);
    const cursor = cursorsOf(old).at(-1);
    const resumed = await Promise.all(Array.from({ length: 6 }, () => session.get(cursor)));
    expect(resumed.map(({ status }) => status)).toEqual(resumed.map(() => 200));
    await lab.tool("free", { key });
    for (const stream of resumed) await stream.end();
    expect(resumed.flatMap(({ messages }) => messages)).toMatchObject([{ params: { progress: 3 } }, { id }]);
  });

  test("arrives once and in order in a burst that is cut off repeatedly", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const seen: unknown[] = [];
    let stream = await session.stream("flood", { key, events: 100, size: 2_000 }, id);
    for (let hop = 0; seen.at(-1) !== id; hop += 1) {
      expect([hop, stream.status]).toEqual([hop, 200]);
      await stream.has("an event", ({ messages, isOver }) => isOver || messages.length > hop % 5);
      stream.cut();
      seen.push(...progressOf(stream.messages), ...stream.messages.flatMap((message) => message.id ?? []));
      if (seen.at(-1) !== id) stream = await session.get(cursorsOf(stream).at(-1));
    }
    expect(seen).toEqual([...Array.from({ length: 100 }, (_, at) => at + 1), id]);
  });
});

describe("the retention limit", () => {
  test("makes resuming after the last event return 405, never 404 or an empty 200", async () => {
    const session = await Session.open(await lab.url());
    const last = cursorsOf(await finished(session)).at(-1);
    const resumed = await session.get(last);
    expect(resumed.status).toBe(405);
    expect(resumed.response.headers.get("allow")).toMatch(/\bPOST\b/);
    expect((await session.request("ping")).status).toBe(200);
  });

  test("makes resuming an expired stream return 405, and does not affect its session", async () => {
    const session = await Session.open(await lab.url("short"));
    const [first] = cursorsOf(await finished(session));
    await until("the stream is forgotten", async () => {
      const resumed = await session.get(first);
      resumed.cut();
      return resumed.status === 405;
    });
    expect((await session.request("ping")).status).toBe(200);
    expect(progressOf((await finished(session)).messages)).toEqual([1, 2, 3]);
  });
});

describe("priming and retry", () => {
  test("a stream of 2025-11-25 begins with an event that has an id and empty data (priming)", async () => {
    const session = await Session.open(await lab.url());
    const call = await finished(session);
    const standalone = await session.get();
    await standalone.has("an event", ({ raw }) => raw.includes("\n\n"));
    const resumed = await (await session.get(call.events[0]?.id)).end();
    for (const { raw, events } of [call, standalone, resumed]) {
      expect(events[0]).toMatchObject({ data: "" });
      expect(raw).toMatch(/^id: ?\S+\ndata:\s?\n\n/);
    }
    // Resuming after the priming event misses nothing.
    expect(framesOf(resumed)).toEqual(framesOf(call));
    standalone.cut();
  });

  test.each(["2025-03-26", "2025-06-18"])("no priming is sent in %s, whose clients parse it", async (version) => {
    const session = await Session.open(await lab.url(), { version });
    const call = await finished(session);
    const resumed = await (await session.get(cursorsOf(call)[0])).end();
    for (const { events } of [call, resumed]) expect(events.map(({ data }) => data)).not.toContain("");
  });

  test("retry is sent before the server ends a connection, after an event with an id, and the call continues", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const stream = await (await session.stream("part", { key, retry: 1234 }, id)).end();
    expect(stream.raw).toMatch(/^id: ?\S+\n[\s\S]*\bretry: ?1234\n/);
    expect(stream.messages).toEqual([]);
    await lab.noted(key, "waiting");
    const resumed = await session.get(cursorsOf(stream).at(-1));
    await lab.tool("free", { key });
    await resumed.end();
    expect(resumed.messages).toMatchObject([{ id, result: { content: [{ text: key }] } }]);
  });

  test("a stream whose connection the server ended can be resumed even after the response", async () => {
    const session = await Session.open(await lab.url());
    const key = newKey();
    const stream = await (await session.stream("part", { key, retry: 1 }, "polled")).end();
    await lab.tool("free", { key });
    const polls: Cuttable[] = [];
    await until("the answer is there", async () => {
      polls.push(await session.get(cursorsOf(stream).at(-1)));
      return polls.at(-1)?.status === 200;
    });
    const last = await polls.at(-1)?.end();
    expect(last?.messages).toMatchObject([{ id: "polled", result: { content: [{ text: key }] } }]);
  });

  test("the connection of a client before 2025-11-25 is not ended, and its response is sent on the stream", async () => {
    const session = await Session.open(await lab.url("quick"), { version: "2025-06-18" });
    const key = newKey();
    const stream = await session.stream("part", { key, retry: 1 }, "stays");
    await lab.tool("free", { key }, "quick");
    await stream.end();
    expect(stream.messages).toMatchObject([{ id: "stays", result: { content: [{ text: key }] } }]);
  });
});

test("a POST with Last-Event-ID is a new request and does not resume a stream", async () => {
  const session = await Session.open(await lab.url());
  const stream = await finished(session);
  const headers = { "last-event-id": cursorsOf(stream)[0] };
  expect(await readAnswer(session.send(request("ping", undefined, "new"), headers))).toMatchObject({
    status: 200,
    messages: [{ id: "new", result: {} }],
  });
});
