/**
 * Messages on a stream are logged before they are sent, so a client that received an event can resume after it. In
 * these tests the object's database refuses to store an event.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cuttable, progressOf, Session } from "../conformance/support.ts";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { ModernClient, readAnswer } from "./client.ts";

expectLogs(/^mcp-edge: "\(session\)" failed .* refused: SQLITE_CONSTRAINT/);

const CLASS = "PlacedObject";

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/durable.ts",
    objects: [CLASS, "PlainObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

/** Opens a session whose log is not empty, and finds its object. */
async function open(): Promise<{ session: Session; object: string }> {
  const others = await worker.worker.objects(CLASS);
  const session = await Session.open(`${worker.origin}/placed/mcp`);
  await (await flood(session, crypto.randomUUID(), 2)).end();
  const [object = ""] = (await worker.worker.objects(CLASS)).filter((id) => !others.includes(id));
  return { session, object };
}

/** Makes a call that reports progress `events` times: by default so slowly that each event is a row. */
async function flood(session: Session, key: string, events: number, size = 1, pauseMs = 20): Promise<Cuttable> {
  const stream = await session.stream("flood", { key, events, size, pauseMs });
  await stream.has("the first", ({ messages }) => messages.length > 0);
  await readAnswer(new ModernClient(`${worker.origin}/plain/mcp`).call("release", { key }));
  return stream;
}

/** Makes the database refuse rows from now on. */
async function refuse(object: string, when: string): Promise<void> {
  const newer = "NEW.stream > (SELECT MAX(id) FROM stream WHERE id < NEW.stream)";
  const trigger = `CREATE TRIGGER refusing BEFORE INSERT ON event WHEN ${newer} AND ${when}`;
  await worker.worker.sql(CLASS, object, `${trigger} BEGIN SELECT RAISE(ABORT, 'refused'); END`);
}

test("an event that cannot be stored is not sent, and the events before and after it are sent", {
  tags: "long",
}, async () => {
  const { session, object } = await open();
  await refuse(object, "NEW.seq = 3");
  const stream = await (await flood(session, "short", 5)).end();
  expect(progressOf(stream.messages)).toEqual([1, 2, 4, 5]);
  const again = await (await session.get(stream.events[0]?.id)).end();
  expect(progressOf(again.messages)).toEqual([1, 2, 4, 5]);
});

test("collected progress that cannot be stored does not affect the result", { tags: "long" }, async () => {
  const { session, object } = await open();
  await refuse(object, "NEW.seq = 5 AND NEW.kind = 0");
  const stream = await (await flood(session, "gathered", 5, 1, 0)).end();
  expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "gathered" }] } });
});

test("no part of an event of several rows is sent or kept if any of its rows cannot be stored", async () => {
  const { session, object } = await open();
  await refuse(object, "NEW.seq = 3 AND NEW.rank = 0");
  const stream = await (await flood(session, "long", 5, 300_000)).end();
  expect(progressOf(stream.messages)).toEqual([1, 2, 4, 5]);
  const again = await (await session.get(stream.events[0]?.id)).end();
  expect(progressOf(again.messages)).toEqual([1, 2, 4, 5]);
});

test("a call whose result cannot be stored ends with an error at once, even when it is resumed", async () => {
  for (const when of ["NEW.kind = 1", `NEW.frames LIKE '%"result"%'`]) {
    const { session, object } = await open();
    await refuse(object, when);
    const stream = await (await flood(session, crypto.randomUUID(), 3)).end();
    const error = { error: { code: -32603, data: { reason: "interrupted" } } };
    expect(progressOf(stream.messages)).toEqual([1, 2, 3]);
    expect(stream.messages.at(-1)).toMatchObject(error);
    await worker.worker.sql(CLASS, object, "DROP TRIGGER refusing");
    const again = await (await session.get(stream.events[0]?.id)).end();
    expect(again.messages.at(-1)).toMatchObject(error);
  }
});
