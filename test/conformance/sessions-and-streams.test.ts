/** Sessions and standalone streams. */
import { describe, expect, test } from "vitest";
import { isMembers, LEGACY_VERSIONS, type Members, notification, request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import { type Cuttable, eventsOf, newKey, Session, useLab, WRONG } from "./support.ts";

const lab = useLab();

/** Returns the error of a response. */
async function errorOf(response: Response): Promise<Members> {
  const message: unknown = await response.json();
  return isMembers(message) && isMembers(message.error) ? message.error : {};
}

describe("a request without a session", () => {
  test("returns 400 for POST, GET and DELETE", async () => {
    const url = await lab.url();
    const lost = (await Session.open(url)).with({ "mcp-session-id": undefined });
    const posted = await lost.send(request("tools/list", undefined, 1), WRONG);
    expect([posted.status, (await errorOf(posted)).code]).toEqual([400, -32600]);
    const got = await lost.get();
    expect(got.status).toBe(400);
    expect((await lost.delete()).status).toBe(400);
  });

  test("returns 400 for a notification, which has no effect", async () => {
    const lost = (await Session.open(await lab.url(), { silent: true })).with({ "mcp-session-id": undefined });
    expect((await lost.send(notification("notifications/initialized"), WRONG)).status).toBe(400);
  });
});

describe("a request with an unknown session", () => {
  test.each(["garbage", "0", "x".repeat(128), "x".repeat(5_000)])("returns 404 (%#)", async (id) => {
    const unknown = (await Session.open(await lab.url())).with({ "mcp-session-id": id });
    const posted = await unknown.request("tools/list");
    expect([posted.status, (await errorOf(posted)).code]).toEqual([404, -32600]);
    expect((await unknown.get()).status).toBe(404);
    expect((await unknown.delete()).status).toBe(404);
  });

  test("returns 404, and the client can initialize again and gets another session id", async () => {
    const url = await lab.url();
    const first = await Session.open(url);
    expect((await first.delete()).ok).toBe(true);
    expect((await first.request("tools/list")).status).toBe(404);
    const second = await Session.open(url);
    expect(second.id).not.toBe(first.id);
    expect(await readAnswer(second.request("ping"))).toMatchObject({ status: 200, messages: [{ result: {} }] });
    expect((await first.request("ping")).status).toBe(404);
  });
});

describe("a session id", () => {
  test.each(LEGACY_VERSIONS)("is visible ASCII and unique in %s", async (version) => {
    const url = await lab.url();
    const sessions = await Promise.all(Array.from({ length: 10 }, () => Session.open(url, { version })));
    for (const { id } of sessions) expect(id).toMatch(/^[\x21-\x7e]{16,256}$/);
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(10);
  });

  test("cannot be guessed: ids close to a real one are refused, and the real one stays valid", {
    tags: "long",
  }, async () => {
    const session = await Session.open(await lab.url());
    const { id } = session;
    const swapped = (at: number): string => {
      const other = id[at] === "A" ? "B" : "A";
      return id.slice(0, at) + other + id.slice(at + 1);
    };
    const guesses = [...Array.from(id, (_, at) => swapped(at)), id.slice(1), id.slice(0, -1), `${id}A`, id + id];
    const statuses = await Promise.all(
      guesses.map(async (guess) => (await session.with({ "mcp-session-id": guess }).request("ping")).status),
    );
    expect(statuses).toEqual(guesses.map(() => 404));
    expect((await session.request("ping")).status).toBe(200);
  });

  test("causes 404 for another principal for POST, GET, DELETE and resuming, without side effects", async () => {
    const alice = await Session.open(await lab.url(), { token: "alice" });
    const own = await alice.stream("count", { key: newKey(), before: 1, after: 0 });
    await own.has("an event with an id", ({ raw }) => eventsOf(raw).some(({ id }) => id !== undefined));
    const cursor = own.events.find(({ id }) => id !== undefined)?.id;
    for (const foreign of [alice.with({ authorization: "Bearer bob" }), alice.with({ authorization: undefined })]) {
      expect((await foreign.request("ping")).status).toBe(404);
      expect((await foreign.get()).status).toBe(404);
      expect((await foreign.get(cursor)).status).toBe(404);
      expect((await foreign.delete()).status).toBe(404);
    }
    expect(await readAnswer(alice.request("ping"))).toMatchObject({ status: 200 });
    own.cut();
  });
});

describe("a new session", () => {
  test.each(LEGACY_VERSIONS)("serves requests before notifications/initialized (%s)", async (version) => {
    const session = await Session.open(await lab.url(), { version, silent: true });
    expect(await readAnswer(session.request("ping", undefined, 0))).toMatchObject({
      messages: [{ id: 0, result: {} }],
    });
    const { status, messages } = await readAnswer(session.request("tools/list", undefined, "early"));
    expect([status, messages[0]]).toMatchObject([200, { id: "early", result: { tools: expect.anything() } }]);
  });

  test("is opened by each of two concurrent initialize requests, even with the same request id", async () => {
    const url = await lab.url("full");
    const sessions = await Promise.all(Array.from({ length: 8 }, () => Session.open(url, { silent: true })));
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(8);
    const [first, ...others] = sessions;
    expect((await first?.delete())?.ok).toBe(true);
    for (const other of others) expect((await other.request("ping")).status).toBe(200);
  });

  test("refuses another initialize and does not change", async () => {
    const session = await Session.open(await lab.url(), { version: "2025-06-18" });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const again = await session.send(request("initialize", params, 9), WRONG);
    expect([again.status, (await errorOf(again)).code]).toEqual([400, -32600]);
    expect(again.headers.get("mcp-session-id")).toBeNull();
    expect(await readAnswer(session.request("ping", undefined, 10))).toMatchObject({
      messages: [{ id: 10, result: {} }],
    });
  });
});

describe("DELETE while calls are running", () => {
  test("ends their streams, and the session is gone for every method", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const call = await session.stream("count", { key, before: 1, after: 0 }, id);
    const standalone = await session.get();
    expect(standalone.status).toBe(200);
    await lab.noted(key, "waiting");
    expect((await session.delete()).ok).toBe(true);
    expect((await session.request("ping")).status).toBe(404);
    expect((await session.get()).status).toBe(404);
    expect((await session.delete()).status).toBe(404);
    await standalone.end();
    await lab.tool("free", { key });
    await call.end();
    // The last message to the client, if any, is the outcome of its call, once.
    const outcomes = call.messages.filter((message) => "id" in message);
    expect(outcomes.map((message) => message.id)).toEqual([id]);
  });

  test("does not affect calls of other sessions", async () => {
    const url = await lab.url();
    const [left, right] = [await Session.open(url), await Session.open(url)];
    const key = newKey();
    const staying = await right.stream("count", { key, before: 1, after: 1 });
    expect((await left.delete()).ok).toBe(true);
    await lab.tool("free", { key });
    await staying.end();
    expect(staying.messages.at(-1)).toMatchObject({ result: { content: [{ text: key }] } });
  });
});

const UPDATED = "notifications/resources/updated";

/** Number of messages of a method on a stream. */
function count(stream: Cuttable, method: string): number {
  return stream.messages.filter((message) => message.method === method).length;
}

/** A session that is subscribed to the watched resource. */
async function watcher(version?: string): Promise<Session> {
  const session = await Session.open(await lab.url(), version === undefined ? {} : { version });
  const subscribed = await readAnswer(session.request("resources/subscribe", { uri: "test://watched" }));
  expect(subscribed).toMatchObject({ status: 200, messages: [{ result: {} }] });
  return session;
}

/** Number of updates that these streams have received. */
function heard(streams: readonly Cuttable[]): number {
  return streams.reduce((sum, stream) => sum + count(stream, UPDATED), 0);
}

/** Changes the watched resource until one of these streams has received the update. */
async function touchUntilHeard(streams: readonly Cuttable[]): Promise<void> {
  const before = heard(streams);
  await until("a stream gets the update", async () => {
    await lab.tool("touch");
    return heard(streams) > before;
  });
}

describe("a GET stream", () => {
  test.each(LEGACY_VERSIONS)("is an event stream that stays open and silent (%s)", async (version) => {
    const session = await Session.open(await lab.url(), { version });
    const stream = await session.get();
    expect(stream.status).toBe(200);
    expect(stream.response.headers.get("content-type")).toMatch(/^text\/event-stream(;|$)/);
    expect(stream.response.headers.get("x-accel-buffering")).toBe("no");
    // The result of a call is sent on its own POST, never here.
    expect(await readAnswer(session.call("echo", { key: "k" }))).toMatchObject({ text: "k" });
    expect(stream.messages).toEqual([]);
    expect(stream.isOver).toBe(false);
    stream.cut();
  });

  test("can be one of two, with their own cursors, and each message is sent on only one", async () => {
    const session = await watcher();
    const [left, right] = [await session.get(), await session.get()];
    expect([left.status, right.status]).toEqual([200, 200]);
    for (const stream of [left, right]) await stream.has("a cursor", ({ events }) => events[0]?.id !== undefined);
    expect(left.events[0]?.id).not.toBe(right.events[0]?.id);
    await touchUntilHeard([left, right]);
    left.cut();
    await touchUntilHeard([right]);
    right.cut();
  });

  test("does not carry messages of a call's stream, and the reverse", async () => {
    const session = await watcher();
    const streams = [await session.get(), await session.get()];
    const key = newKey();
    const call = await session.stream("count", { key, before: 1, after: 1 });
    await touchUntilHeard(streams);
    await lab.tool("free", { key });
    await call.end();
    expect(count(call, UPDATED)).toBe(0);
    expect(streams.flatMap(({ messages }) => messages.filter(({ method }) => method !== UPDATED))).toEqual([]);
    for (const stream of streams) stream.cut();
  });

  test("is ended when it is the oldest of five, and the other four continue", async () => {
    const session = await watcher();
    const streams: Cuttable[] = [];
    for (let n = 0; n < 5; n += 1) streams.push(await session.get());
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    await streams[0]?.end();
    for (let left = 4; left > 0; left -= 1) {
      const staying = streams.slice(-left);
      await touchUntilHeard(staying);
      expect(staying.map(({ isOver }) => isOver)).toEqual(staying.map(() => false));
      staying[0]?.cut();
    }
    expect(streams[0]?.messages).toEqual([]);
  });

  test("does not carry notifications that the session did not subscribe to", async () => {
    const [session, other] = [await watcher(), await Session.open(await lab.url())];
    const [subscribed, silent] = [await session.get(), await other.get()];
    for (let round = 0; round < 3; round += 1) await touchUntilHeard([subscribed]);
    expect(silent.messages).toEqual([]);
    for (const stream of [subscribed, silent]) stream.cut();
  });

  test("requires an Accept that allows an event stream", async () => {
    const session = await Session.open(await lab.url());
    expect((await session.get(undefined, { accept: "application/json" })).status).toBe(406);
    expect((await session.get(undefined, { accept: "*/*" })).status).toBe(200);
  });
});

describe("a restart", () => {
  test("keeps a session usable and subscribed, and a deleted session stays deleted", { tags: "long" }, async () => {
    const [silent, subscribed] = [await Session.open(await lab.url(), { silent: true }), await watcher()];
    const [levelled, deleted] = [await Session.open(await lab.url()), await Session.open(await lab.url())];
    expect(await readAnswer(levelled.request("ping"))).toMatchObject({ status: 200 });
    await deleted.delete();
    await lab.worker.killAndRestart();
    const url = await lab.url();
    expect((await silent.with({}, url).request("tools/list")).status).toBe(200);
    expect((await levelled.with({}, url).request("ping")).status).toBe(200);
    expect((await deleted.with({}, url).request("ping")).status).toBe(404);
    const stream = await subscribed.with({}, url).get();
    await touchUntilHeard([stream]);
    expect(stream.messages[0]).toMatchObject({ method: UPDATED, params: { uri: "test://watched" } });
    stream.cut();
  });

  test("does not affect a modern call, which needs no session", { tags: "long" }, async () => {
    expect(await readAnswer(new ModernClient(await lab.url()).call("which"))).toMatchObject({ text: "full" });
    await lab.worker.killAndRestart();
    expect(await readAnswer(new ModernClient(await lab.url()).call("which"))).toMatchObject({ text: "full" });
  });
});
