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

describe.each(VERSIONS)("replay order (%s)", (version) => {
  test("replay order: resuming after each event of a finished stream repeats the later ones byte for byte", async () => {
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

  test("replay order: missed events come first, then new ones, then the answer and the end", async () => {
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

  test("unique ids per session: no two events of any stream share an id, and all ids are short visible ASCII", async () => {
    const session = await Session.open(await lab.url(), { version });
    const standalone = [await session.get(), await session.get()];
    const calls = await Promise.all(Array.from({ length: 5 }, () => finished(session)));
    const ids = [...standalone, ...calls].flatMap(cursorsOf);
    expect(ids.length).toBeGreaterThanOrEqual(calls.length * 4);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{1,64}$/);
    for (const stream of standalone) stream.cut();
  });

  test("no cross-stream replay: a resumed call carries nothing of a concurrent call", async () => {
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

describe("unknown or garbage event id", () => {
  test("an invalid event id is 400, and does not affect the session", async () => {
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

  test("an event id of another session is 400, and replays nothing", async () => {
    const [own, other] = [await Session.open(await lab.url()), await Session.open(await lab.url())];
    const stream = await finished(own);
    for (const { id } of stream.events) expect((await other.get(id)).status).toBe(400);
    expect((await own.get(stream.events[0]?.id)).status).toBe(200);
  });

  test("event ids of a deleted session are 404, like every request of it", async () => {
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

describe("replay after restart", () => {
  test("replay after restart: a finished stream is complete", async () => {
    const session = await Session.open(await lab.url());
    const stream = await finished(session);
    await lab.worker.killAndRestart();
    const resumed = await (await session.with({}, await lab.url()).get(stream.events[0]?.id)).end();
    expect(framesOf(resumed)).toEqual(framesOf(stream));
  });

  test("replay after restart: a call that was lost with its object ends with an error after its earlier events", async () => {
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

  test("unique ids per session: ids after a restart differ from those before", async () => {
    const session = await Session.open(await lab.url());
    const before = cursorsOf(await finished(session));
    await lab.worker.killAndRestart();
    const after = cursorsOf(await finished(session.with({}, await lab.url())));
    expect(after.length).toBeGreaterThanOrEqual(4);
    expect(new Set([...before, ...after]).size).toBe(before.length + after.length);
  });
});

describe("GET-stream resume", () => {
  test("GET-stream resume: the stream continues after the cursor and carries no call's answer", async () => {
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

  test("GET-stream resume: an update between the two streams is sent on the second one", async () => {
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

describe("duplicate delivery", () => {
  test("duplicate delivery: when a stream is resumed while the old connection is open, the answer is sent on one of them", async () => {
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

  test("duplicate delivery: a client that is cut off after each event gets every event once and in order", async () => {
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

  test("duplicate delivery: of six that resume at once one gets the rest, and the others end without it", async () => {
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

  test("duplicate delivery: a burst that is cut off repeatedly arrives once and in order", async () => {
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

describe("retention limits", () => {
  test("retention limits: after the last event there is nothing to resume: 405, never 404 or an empty 200", async () => {
    const session = await Session.open(await lab.url());
    const last = cursorsOf(await finished(session)).at(-1);
    const resumed = await session.get(last);
    expect(resumed.status).toBe(405);
    expect(resumed.response.headers.get("allow")).toMatch(/\bPOST\b/);
    expect((await session.request("ping")).status).toBe(200);
  });

  test("retention limits: an expired stream is 405, and does not affect its session", async () => {
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

describe("retry and priming", () => {
  test("priming: a stream of 2025-11-25 begins with an event with an id and empty data", async () => {
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

  test.each(["2025-03-26", "2025-06-18"])("priming: none in %s, whose clients parse empty data", async (version) => {
    const session = await Session.open(await lab.url(), { version });
    const call = await finished(session);
    const resumed = await (await session.get(cursorsOf(call)[0])).end();
    for (const { events } of [call, resumed]) expect(events.map(({ data }) => data)).not.toContain("");
  });

  test("retry: is sent before the server ends a connection, after an event with an id, and the call continues", async () => {
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

  test("retry: a stream whose connection the server ended can be resumed after the answer, too", async () => {
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

  test("retry: the connection of a client before 2025-11-25 is not ended; its answer is sent on the stream", async () => {
    const session = await Session.open(await lab.url("quick"), { version: "2025-06-18" });
    const key = newKey();
    const stream = await session.stream("part", { key, retry: 1 }, "stays");
    await lab.tool("free", { key }, "quick");
    await stream.end();
    expect(stream.messages).toMatchObject([{ id: "stays", result: { content: [{ text: key }] } }]);
  });
});

test("a POST with Last-Event-ID is a new request and resumes nothing", async () => {
  const session = await Session.open(await lab.url());
  const stream = await finished(session);
  const headers = { "last-event-id": cursorsOf(stream)[0] };
  expect(await readAnswer(session.send(request("ping", undefined, "new"), headers))).toMatchObject({
    status: 200,
    messages: [{ id: "new", result: {} }],
  });
});
