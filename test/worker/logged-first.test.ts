/**
 * What is said on a stream goes to the log before anybody is sent it: a client that saw an event can resume after it.
 * Here the database of the object refuses to store one.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cuttable, progressOf, Session } from "../conformance/support.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { ModernClient, told } from "./client.ts";

const BINDING = "PLACED_SESSION";

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/durable.ts",
    objects: { [BINDING]: "PlacedSession", PLAIN_SESSION: "PlainSession", MCP_HUB: "McpHub" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

/** A session and the id of its object, in whose log there is something already. */
async function open(): Promise<{ session: Session; object: string }> {
  const others = await worker.worker.objects(BINDING);
  const session = await Session.open(`${worker.origin}/placed/mcp`);
  await (await flood(session, crypto.randomUUID(), 2)).end();
  const [object = ""] = (await worker.worker.objects(BINDING)).filter((id) => !others.includes(id));
  return { session, object };
}

/** A call that tells of its progress so many times, each time in a turn of its own. */
async function flood(session: Session, key: string, events: number, size = 1): Promise<Cuttable> {
  const stream = await session.stream("flood", { key, events, size });
  await stream.has("the first", ({ messages }) => messages.length > 0);
  await told(new ModernClient(`${worker.origin}/plain/mcp`).call("release", { key }));
  return stream;
}

/** Has the database refuse rows from now on. */
async function refuse(object: string, when: string): Promise<void> {
  const newer = "NEW.stream > (SELECT MAX(id) FROM stream_2 WHERE id < NEW.stream)";
  const trigger = `CREATE TRIGGER refusing BEFORE INSERT ON event_2 WHEN ${newer} AND ${when}`;
  await worker.worker.sql(BINDING, object, `${trigger} BEGIN SELECT RAISE(ABORT, 'refused'); END`);
}

test("an event that cannot be stored is not sent, and those around it are", async () => {
  const { session, object } = await open();
  await refuse(object, "NEW.seq = 3");
  const stream = await (await flood(session, "short", 5)).end();
  expect(progressOf(stream.messages)).toEqual([1, 2, 4, 5]);
  const again = await (await session.get(stream.events[0]?.id)).end();
  expect(progressOf(again.messages)).toEqual([1, 2, 4, 5]);
});

test("of an event of several rows no part is sent or kept when one of them cannot be stored", async () => {
  const { session, object } = await open();
  await refuse(object, "NEW.seq = 3 AND NEW.rank = 0");
  const stream = await (await flood(session, "long", 5, 300_000)).end();
  expect(progressOf(stream.messages)).toEqual([1, 2, 4, 5]);
  const again = await (await session.get(stream.events[0]?.id)).end();
  expect(progressOf(again.messages)).toEqual([1, 2, 4, 5]);
});
