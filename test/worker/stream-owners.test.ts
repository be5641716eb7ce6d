/** Streams belong to the session that opened them, even if sessions of several principals share one object. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Cuttable, type OpenOptions, Session, WRONG } from "../conformance/support.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { notification, request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { ModernClient, Reading, readAnswer } from "./client.ts";

const CLASS = "TeamObject";

let worker: Workerd;
let tap: HttpTap;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/surviving-sessions.ts",
    objects: [CLASS],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/team/mcp`);
});
afterEach(async () => {
  await tap.close();
  if (tap.oracle.messages > 0) tap.oracle.expectClean();
});

/** A session in the object that all share. */
async function open(token?: string, options: OpenOptions = {}): Promise<Session> {
  const capabilities = { roots: { listChanged: true } };
  const session = await Session.open(tap.url, { capabilities, ...options, ...(token === undefined ? {} : { token }) });
  expect((await session.request("logging/setLevel", { level: "info" })).status).toBe(200);
  return session;
}

const objectId = async () => (await worker.worker.objects(CLASS, "session"))[0] ?? "";
const storage = async () => worker.worker.storage(CLASS, await objectId());

/** A GET stream whose event ids are known: the first event has the id of the beginning. */
async function listen(session: Session): Promise<{ stream: Cuttable; id: string }> {
  const stream = await session.get();
  await stream.has("the first event id", ({ ids }) => ids.length > 0);
  return { stream, id: stream.ids[0] ?? "" };
}

/** Makes a handler send a message that belongs to no call. */
async function provoke(session: Session): Promise<void> {
  expect((await session.send(notification("notifications/roots/list_changed"))).status).toBe(202);
}

const said = ({ messages }: Cuttable) => messages.filter(({ method }) => method === "notifications/message").length;
const partsOf = (id: string) => id.split("-") as [tag: string, stream: string, seq: string];
const withStream = (id: string, stream: string, seq = "0") => [partsOf(id)[0], stream, seq].join("-");

test("a made-up event id cannot attach to the GET stream of another session", async () => {
  const [alice, mallory] = [await open("alice"), await open("mallory")];
  const [hers, his] = [await listen(alice), await listen(mallory)];
  const number = partsOf(hers.id)[1];
  const guesses = [withStream(his.id, number), withStream(his.id, number, "1"), hers.id];
  for (const guess of guesses) expect((await mallory.get(guess, WRONG)).status).toBe(400);
  await provoke(alice);
  await hers.stream.has("her message", (stream) => said(stream) === 1);
  // Now it has a row, too.
  for (const guess of guesses) expect((await mallory.get(guess, WRONG)).status).toBe(400);
  await provoke(mallory);
  await his.stream.has("his message", (stream) => said(stream) === 1);
  expect([hers.stream.isOver, his.stream.isOver, said(hers.stream)]).toEqual([false, false, 1]);
  hers.stream.cut();
  his.stream.cut();
});

test("event ids of another session's call are refused, while it runs and afterwards", async () => {
  const [alice, mallory] = [await open("alice"), await open("mallory")];
  const call = await alice.stream("count", { key: "hers", before: 1 });
  await call.has("progress", ({ messages }) => messages.length === 1);
  const his = await listen(mallory);
  const guesses = [call.ids[0] ?? "", withStream(his.id, partsOf(call.ids[0] ?? "")[1])];
  for (const guess of guesses) expect((await mallory.get(guess, WRONG)).status).toBe(400);
  await readAnswer(new ModernClient(tap.url).call("release", { key: "hers" }));
  await call.end();
  for (const guess of guesses) expect((await mallory.get(guess, WRONG)).status).toBe(400);
  expect(call.messages.at(-1)).toMatchObject({ result: { content: [{ text: "hers" }] } });
  his.stream.cut();
});

test("a stream number that was never issued is rejected with 400, and later numbers do not derive from it", {
  tags: "long",
}, async () => {
  const session = await open("alice");
  const { stream, id } = await listen(session);
  const number = Number.parseInt(partsOf(id)[1], 36);
  const future = 36 ** 10 - 1;
  const never = [number + 2, number - 2, number + 1, future, future - 1, 1, 0];
  for (const each of never) {
    expect([each, (await session.get(withStream(id, each.toString(36)), WRONG)).status]).toEqual([each, 400]);
  }
  await provoke(session);
  await stream.has("a message", (each) => said(each) === 1);
  // The id of an event that was not sent was not issued either.
  expect((await session.get(withStream(id, partsOf(id)[1], "2"), WRONG)).status).toBe(400);
  expect((await storage()).tables.stream?.every((row) => Number(row.id) <= number)).toBe(true);
  stream.cut();
  await worker.worker.abort(CLASS, await objectId());
  const next = await listen(session);
  expect(next.id.length).toBeLessThanOrEqual(64);
  expect(Number.parseInt(partsOf(next.id)[1], 36)).toBeLessThan(number + 10 * 60_000);
  next.stream.cut();
});

test("a GET stream without events can be resumed, even after a restart, and stores no data for it", {
  tags: "long",
}, async () => {
  const session = await open("alice");
  const first = await listen(session);
  first.stream.cut();
  await worker.killAndRestart();
  const again = await session.get(first.id);
  expect(again.status).toBe(200);
  expect((await storage()).tables.stream ?? []).not.toContainEqual(
    expect.objectContaining({ id: Number.parseInt(partsOf(first.id)[1], 36) }),
  );
  await provoke(session);
  await again.has("a message", (each) => said(each) === 1);
  expect(partsOf(again.ids.at(-1) ?? "").slice(0, 2)).toEqual(partsOf(first.id).slice(0, 2));
  again.cut();
});

test("a GET stream whose log was deleted continues after the last event that its client received", async () => {
  const session = await open("alice");
  const first = await listen(session);
  for (const times of [1, 2, 3]) {
    await provoke(session);
    await first.stream.has("a message", (each) => said(each) === times);
  }
  first.stream.cut();
  const row = { id: Number.parseInt(partsOf(first.id)[1], 36) };
  await until("the log is forgotten", async () => {
    await worker.worker.runAlarm(CLASS, await objectId());
    return !((await storage()).tables.stream ?? []).some(({ id }) => id === row.id);
  });
  const [, , last] = first.stream.ids.slice(1);
  const again = await session.get(last);
  await provoke(session);
  await again.has("a message", (each) => said(each) === 1);
  expect(partsOf(again.ids.at(-1) ?? "")).toEqual([...partsOf(first.id).slice(0, 2), "4"]);
  again.cut();
});

test("an object does not open a socket to a stream of another session, whatever a Worker requests", async () => {
  const [alice, mallory] = [await open("alice"), await open("mallory")];
  const call = await alice.stream("count", { key: "asked", before: 1 });
  await call.has("progress", ({ messages }) => messages.length === 1);
  const hers = await listen(alice);
  await provoke(alice);
  await hers.stream.has("a message", (each) => said(each) === 1);
  expect(mallory.id).not.toBe(alice.id);
  for (const id of [call.ids[0] ?? "", hers.id]) {
    const stream = Number.parseInt(partsOf(id)[1], 36);
    for (const target of [
      { kind: "call", stream },
      { kind: "again", stream, after: 0 },
    ]) {
      expect([target, await statusOf({ caller: stranger(), target })]).toEqual([target, 400]);
    }
  }
  await readAnswer(new ModernClient(tap.url).call("release", { key: "asked" }));
  await call.end();
  hers.stream.cut();
});

test("when a principal takes over an anonymous session, its open GET streams end and get no data of the principal", async () => {
  const anonymous = await open();
  const [older, newer] = [await listen(anonymous), await listen(anonymous)];
  const alice = anonymous.with({ authorization: "Bearer alice" });
  // The message that a stream of the session would carry is caused by the request that takes it over.
  await provoke(alice);
  await Promise.all([older.stream.end(), newer.stream.end()]);
  expect([said(older.stream), said(newer.stream)]).toEqual([0, 0]);
  for (const id of [undefined, older.id, newer.id]) expect((await anonymous.get(id)).status).toBe(404);
  const hers = await alice.get();
  await hers.has("the earlier message", (stream) => said(stream) === 1);
  await provoke(alice);
  await hers.has("the new message", (stream) => said(stream) === 2);
  expect(hers.isOver).toBe(false);
  hers.cut();
});

test("a call that runs while its session is taken over ends on its own stream and stays its caller's", async () => {
  const anonymous = await open();
  const call = await anonymous.stream("count", { key: "taken", before: 1 });
  await call.has("progress", ({ messages }) => messages.length === 1);
  const alice = anonymous.with({ authorization: "Bearer alice" });
  expect((await readAnswer(alice.call("who", {}))).text).toBe("alice");
  expect((await anonymous.get(call.ids[0])).status).toBe(404);
  await readAnswer(new ModernClient(tap.url).call("release", { key: "taken" }));
  await call.end();
  expect(call.messages.at(-1)).toMatchObject({ result: { content: [{ text: "taken" }] } });
});

test("an anonymous HTTP+SSE stream ends when a principal takes over its session", async () => {
  const cutter = new AbortController();
  const url = `${worker.origin}/team/mcp`;
  const stream = await fetch(url, { headers: { accept: "text/event-stream" }, signal: cutter.signal });
  const reading = new Reading(stream);
  await reading.has("the endpoint", ({ raw }) => /^data: .+\n\n/m.test(raw));
  const [, endpoint = ""] = /^data: (.+)$/m.exec(reading.raw) ?? [];
  const post = (id: number, headers = {}) =>
    fetch(new URL(endpoint, worker.origin), {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(request("ping", undefined, id)),
    });
  expect((await post(1)).status).toBe(202);
  await reading.has("an answer", ({ raw }) => raw.includes('"id":1,'));
  await post(2, { authorization: "Bearer alice" });
  await reading.has("end of the stream", ({ isOver }) => isOver);
  expect(reading.raw).not.toContain('"id":2,');
  expect((await post(3)).status).toBe(404);
});

test("the result of a message that waits for a stream while its session is taken over is not sent on the principal's stream", async () => {
  const anonymous = await open();
  const endpoint = new URL(`/team/mcp?sessionId=${anonymous.id}`, worker.origin);
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(request("tools/call", { name: "who", arguments: {} }, "waiting"));
  const waiting = fetch(endpoint, { method: "POST", headers, body });
  // Usually served after it; in the other order it is refused at once.
  expect((await anonymous.request("ping")).status).toBe(200);
  const alice = anonymous.with({ authorization: "Bearer alice" });
  const hers = await listen(alice);
  expect((await waiting).status).toBe(404);
  await provoke(alice);
  await hers.stream.has("her message", (stream) => said(stream) === 1);
  expect(hers.stream.raw).not.toContain("waiting");
  hers.stream.cut();
});

/** The claim of a Worker for another session of the same object. */
const stranger = () => ({
  session: 12_345,
  endpoint: "/team/mcp",
  versionIndex: 3,
  capabilityBits: 0,
  principalHash: "1".repeat(32),
  isOpenedAnonymously: false,
  expiresAtMs: Date.now() + 60_000,
});

/** The status of the shared object's response to a Worker that requests a socket. */
async function statusOf(attach: object): Promise<number> {
  const query = new URLSearchParams({ attach: encodeURIComponent(JSON.stringify(attach)), id: await objectId() });
  return (await fetch(`${worker.origin}/raw/${CLASS}?${query}`)).status;
}
