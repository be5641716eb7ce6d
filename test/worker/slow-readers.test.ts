// @module-tag long
/** Clients that read their streams more slowly than the server writes them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cuttable, progressOf, Session } from "../conformance/support.ts";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type Members, notification } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, Reading, readAnswer } from "./client.ts";

expectLogs(/^Uncaught exception: .* The client has stopped reading\./);

let worker: Workerd;

beforeAll(async () => {
  const objects = ["Plain", "Small", "Full", "Brief", "Idle", "Shared", "Large", "Hasty", "Placed"].map(
    (name) => `${name}Object`,
  );
  worker = await Workerd.start({
    entry: "test/worker/fixtures/durable.ts",
    objects,
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

interface Look {
  readonly rows: Readonly<Record<string, number>>;
  readonly sockets: readonly { readonly behind?: { readonly seq: number } }[];
  readonly alarm: number | null;
}

/** The contents of all objects of an endpoint. */
async function look(kind = "Plain"): Promise<Look[]> {
  return (await fetch(`${worker.origin}/look/${kind}Object`)).json() as Promise<Look[]>;
}

const plain = () => `${worker.origin}/plain/mcp`;
const tool = async (name: string, key: string, size = 0) =>
  (await readAnswer(new ModernClient(plain()).call(name, { key, size }))).text;
const release = (key: string) => tool("release", key);
const isBehind = ({ sockets }: Look) => sockets.some(({ behind }) => behind !== undefined);
const values = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
/** Longer than resumeMs of the plain endpoint, so that the alarm runs in it. */
const RESUME_OVER_MS = 1_200;

let keys = 0;

function newKey(): string {
  keys += 1;
  return `key${keys}`;
}

/** Calls the tool that sends many events and releases it once its reader is connected. */
async function flood(session: Session, args: { key: string; events: number; size?: number }): Promise<Cuttable> {
  const stream = await session.stream("flood", args);
  await stream.has("the first", ({ messages }) => messages.length > 0);
  await release(args.key);
  return stream;
}

const methodsOf = (messages: readonly Members[]) => messages.map(({ method }) => method);

describe("a slow reader", () => {
  const events = 300;

  /** The session, read by a client that pauses after the beginning of each response until the key is released. */
  const paused = (session: Session, key: string) =>
    session.with({}, `${worker.origin}/read-late/plain/mcp?until=${key}-read`);

  /** Starts a call that ends while its reader is behind. The reader continues when the returned function is called. */
  async function fallBehind(session: Session) {
    const key = newKey();
    const stream = await paused(session, key).stream("flood", { key, events, size: 20_000 });
    await release(key);
    await until("the object waits for its reader", async () => (await look()).some(isBehind));
    return { stream, continueReading: () => release(`${key}-read`) };
  }

  function expectWhole({ messages }: Cuttable): void {
    expect(progressOf(messages)).toEqual(values(1, events));
    expect(messages.at(-1)).toMatchObject({ result: { content: [{}] } });
  }

  test("is sent at most a window; the rest waits in the log and arrives completely", async () => {
    const { stream, continueReading } = await fallBehind(await Session.open(plain()));
    const [socket] = (await look()).flatMap(({ sockets }) => sockets);
    // A window of 1 MiB and the row that exceeds it, of at most four events, in events of 20,000 units and more.
    expect(socket?.behind?.seq).toBeGreaterThan(0);
    expect(socket?.behind?.seq).toBeLessThanOrEqual(56);
    await continueReading();
    expectWhole(await stream.end());
  });

  test("is sent at most a window of the events from which it resumes", async () => {
    const session = await Session.open(plain());
    const key = newKey();
    const first = await session.stream("flood", { key, events, size: 20_000 });
    await first.has("an event", ({ messages }) => messages.length > 0);
    first.cut();
    await release(key);
    const stream = await paused(session, key).get(first.events[0]?.id);
    await until("the object waits for its reader", async () => (await look()).some(isBehind));
    await release(`${key}-read`);
    expectWhole(await stream.end());
  });

  test("gets the rest of a call after its object has hibernated", async () => {
    const { stream, continueReading } = await fallBehind(await Session.open(plain()));
    expect(await worker.worker.evict("PlainObject")).toBeGreaterThan(0);
    expect((await look()).some(isBehind)).toBe(true);
    await continueReading();
    expectWhole(await stream.end());
  });

  test("gets the rest of a call although resumeMs has passed since its end; then the log is deleted", async () => {
    const { stream, continueReading } = await fallBehind(await Session.open(plain()));
    await pause(RESUME_OVER_MS);
    await continueReading();
    expectWhole(await stream.end());
    await until("nothing is stored any more", async () => {
      return (await look()).every(({ rows, alarm }) => Object.keys(rows).length === 0 && alarm === null);
    });
  });

  test("gets the rest of its GET stream although resumeMs has passed", async () => {
    const session = await Session.open(plain(), { capabilities: { roots: { listChanged: true } } });
    await session.request("logging/setLevel", { level: "info" });
    const key = newKey();
    const stream = await paused(session, key).get();
    await tool("talk", key, 100_000);
    const messages = 60;
    for (let count = 1; count <= messages; count += 1) {
      await session.send(notification("notifications/roots/list_changed"));
    }
    await until("the object waits for its reader", async () => (await look()).some(isBehind));
    await pause(RESUME_OVER_MS);
    await release(`${key}-read`);
    await stream.has("all messages", (each) => each.messages.length === messages);
    expect(stream.messages.every(({ method }) => method === "notifications/message")).toBe(true);
    stream.cut();
  });

  test("is disconnected when it has read nothing for slowReaderMs, and then nothing stays stored for it", async () => {
    const session = await Session.open(`${worker.origin}/hasty/mcp`);
    const key = newKey();
    const late = session.with({}, `${worker.origin}/read-late/hasty/mcp?until=${key}-read`);
    const stream = await late.stream("flood", { key, events, size: 20_000 });
    await release(key);
    const rows = async () => (await look("Hasty")).flatMap((each) => Object.keys(each.rows));
    await until("the events are stored", async () => (await rows()).length > 0);
    await until("nothing is stored any more", async () => (await rows()).length === 0);
    await release(`${key}-read`);
    await stream.has("its end", ({ isOver }) => isOver);
    expect(stream.messages.length).toBeLessThan(events);
  });

  test("is disconnected when its session is deleted", async () => {
    const session = await Session.open(plain());
    const { stream, continueReading } = await fallBehind(session);
    await session.delete();
    await continueReading();
    const { messages } = await stream.end();
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.length).toBeLessThan(events);
  });
});

test("a GET stream that is not read uses a limited amount of memory, and one notification per subject replaces the rest", async () => {
  const session = await Session.open(plain());
  await session.request("logging/setLevel", { level: "error" });
  const headers = { ...session.headers, accept: "text/event-stream" } as Record<string, string>;
  const cutter = new AbortController();
  const silent = await fetch(session.url, { headers, signal: cutter.signal });
  const events = 600;
  // More than the buffers of the connection and of the Worker hold together.
  expect((await readAnswer(session.call("shout", { key: "loud", events, size: 64 * 1024 }))).text).toBe("loud");
  const reading = new Reading(silent);
  const dropped = ({ messages }: Reading) =>
    messages.findIndex((each) => (each.params as Members)?.logger === "mcp-edge");
  await reading.has("that messages were dropped, and what changed", (each) => {
    const at = dropped(each);
    return at >= 0 && each.messages.slice(at - 1).some(({ method }) => method === "notifications/tools/list_changed");
  });
  expect(methodsOf(reading.messages).filter((method) => method === "notifications/message").length).toBeLessThan(
    events,
  );
  expect(reading.messages[dropped(reading)]).toMatchObject({ params: { level: "error" } });
  // A stream that is read again gets new notifications.
  const before = reading.messages.length;
  await readAnswer(session.call("shout", { key: "again" }));
  await reading.has("the new message", ({ messages }) => {
    return messages.slice(before).some(({ params }) => (params as Members | undefined)?.data === "x");
  });
  cutter.abort();
});

test("an event that was sent in part is sent to its end, although the limits drop the events after it", async () => {
  const session = await Session.open(`${worker.origin}/small/mcp`);
  const key = newKey();
  // An event has three rows: what is sent in advance ends within the second or third.
  const whole = await (await flood(session, { key, events: 6, size: 600_000 })).end();
  expect(whole.raw).toMatch(/\n\n$/);
  const last = progressOf(whole.messages).length;
  expect(last).toBeGreaterThan(1);
  expect(last).toBeLessThan(6);
  expect(progressOf(whole.messages)).toEqual(values(1, last));
  expect(whole.messages.slice(last)).toMatchObject([
    { params: { logger: "mcp-edge", data: expect.stringMatching(`^${6 - last} earlier`) } },
    { result: { content: [{ text: key }] } },
  ]);
});
