// @module-tag long
/** State that a session keeps through every loss of its object, and data that it never stores. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cuttable, progressOf, Session, WRONG } from "../conformance/support.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type Members, notification } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { useTaps } from "./taps.ts";

const KINDS = ["Plain", "Small", "Brief", "Idle"] as const;
type Kind = (typeof KINDS)[number];

let worker: Workerd;
const tapped = useTaps();

beforeAll(async () => {
  // The server publishes to the objects of all its endpoints.
  const objects = [...KINDS.map(classOf), "TeamObject"];
  worker = await Workerd.start({
    entry: "test/worker/fixtures/surviving-sessions.ts",
    objects,
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

function classOf(kind: Kind): string {
  return `${kind}Object`;
}

const at = (kind: Kind) => tapped(`${worker.origin}/${kind.toLowerCase()}/mcp`);

const objects = (kind: Kind) => worker.worker.objects(classOf(kind));
const instance = async (kind: Kind, id: string) =>
  (await fetch(`${worker.origin}/instance/${classOf(kind)}/${id}`)).text();
/** Objects that have ever written anything. workerd gives each object that wakes an empty database of one page. */
const written = (kind: Kind) =>
  worker.storedObjects(classOf(kind)).filter((file) => {
    const path = join(worker.worker.stateFolder, file);
    const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
    // A file that is no longer needed may be deleted meanwhile.
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return size > 4_096 || (log?.size ?? 0) > 0;
  });
const tool = async (name: string, args: Members = {}) =>
  (await readAnswer(new ModernClient(await at("Plain")).call(name, args))).text;
const noted = (key: string, what: string) =>
  until(`${key}: ${what}`, async () => (await tool("noted", { key })) === what);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

let keys = 0;

function newKey(): string {
  keys += 1;
  return `key${keys}`;
}

/** A session that has stored something, and its object. */
class Kept {
  readonly session: Session;
  readonly kind: Kind;
  readonly id: string;

  private constructor(session: Session, kind: Kind, id: string) {
    this.session = session;
    this.kind = kind;
    this.id = id;
  }

  /** @param store Makes the session store something. */
  static async open(
    kind: Kind,
    options: Parameters<typeof Session.open>[1],
    store: (session: Session) => unknown,
  ): Promise<Kept> {
    const before = new Set(await objects(kind));
    const session = await Session.open(await at(kind), options);
    await store(session);
    const [id, ...others] = (await objects(kind)).filter((each) => !before.has(each));
    expect([typeof id, others]).toEqual(["string", []]);
    return new Kept(session, kind, id ?? "");
  }

  async state(): Promise<Readonly<Record<string, unknown>>> {
    const { keys } = await worker.worker.storage(classOf(this.kind), this.id);
    return (keys.session ?? {}) as Record<string, unknown>;
  }
}

/** The ways to lose an object. Each gives the next request a new instance. */
const DEATHS: readonly [name: string, kill: (binding: string, id: string) => Promise<unknown>][] = [
  ["an eviction", (binding, id) => worker.worker.evict(binding, id)],
  ["an abort", (binding, id) => worker.worker.abort(binding, id)],
  ["kill -9 and a restart", () => worker.killAndRestart()],
];

/** Answers the question on a call's stream, and returns the stream when the call has ended. */
async function answered(call: Cuttable, session: Session, result: Members): Promise<Cuttable> {
  await call.has("the question", ({ messages }) => messages.some(({ id, method }) => method && id !== undefined));
  const question = call.messages.find(({ id, method }) => method && id !== undefined);
  expect((await session.send({ jsonrpc: "2.0", id: question?.id, result })).status).toBe(202);
  return call.end();
}

describe.each(DEATHS)("state after %s", (_, kill) => {
  async function die({ kind, id }: Kept): Promise<void> {
    const before = await instance(kind, id);
    await kill(classOf(kind), id);
    expect(await instance(kind, id)).not.toBe(before);
  }

  test("includes the log level of a session", async () => {
    const kept = await Kept.open("Plain", {}, (session) => session.request("logging/setLevel", { level: "warning" }));
    await die(kept);
    const key = newKey();
    const { messages } = await readAnswer(kept.session.call("say", { key }));
    expect(messages.slice(0, -1)).toMatchObject([
      { method: "notifications/message", params: { level: "warning", data: key } },
    ]);
    expect(messages).toHaveLength(2);
  });

  test("includes the client's subscriptions, whose updates are sent on its GET stream", async () => {
    const uri = "test://a";
    const kept = await Kept.open("Plain", {}, (session) => session.request("resources/subscribe", { uri }));
    const before = await kept.session.get();
    await before.has("its first event", ({ raw }) => raw !== "");
    await die(kept);
    const process = DEATHS.at(-1)?.[1];
    if (kill === process) await before.end();
    const stream = before.isOver ? await kept.session.get(before.events.at(-1)?.id) : before;
    // A stream that was opened again is also notified of each list, because changes may have been missed.
    const updates = () => stream.messages.filter(({ method }) => method === "notifications/resources/updated");
    await until("an update arrives", async () => {
      await tool("touch", { key: uri });
      return updates().length > 0;
    });
    expect(updates()[0]).toMatchObject({ params: { uri } });
    stream.cut();
  });

  test("includes requests for changed roots", async () => {
    const capabilities = { roots: { listChanged: true } };
    const kept = await Kept.open("Plain", { capabilities }, async (session) => {
      const first = await answered(await session.stream("roots", {}), session, { roots: [{ uri: "file:///a" }] });
      expect(first.messages.at(-1)).toMatchObject({ result: { content: [{ text: "file:///a" }] } });
    });
    expect((await kept.session.send(notification("notifications/roots/list_changed"))).status).toBe(202);
    await die(kept);
    const { session } = kept;
    const next = await answered(await session.stream("roots", {}), session, { roots: [{ uri: "file:///b" }] });
    expect(next.messages.at(-1)).toMatchObject({ result: { content: [{ text: "file:///b" }] } });
  });

  test("includes the principal that an anonymous session was bound to, and other principals get 404", async () => {
    const alice = { authorization: "Bearer alice" };
    const kept = await Kept.open("Plain", {}, async (session) => session.with(alice).request("ping"));
    await die(kept);
    const { session } = kept;
    expect((await readAnswer(session.with(alice).call("who", {}))).text).toBe("alice");
    expect((await session.with({ authorization: "Bearer bob" }).request("ping")).status).toBe(404);
    expect((await session.request("ping")).status).toBe(404);
    expect((await session.get()).status).toBe(404);
    expect((await session.delete()).status).toBe(404);
    expect((await readAnswer(session.with(alice).call("who", {}))).text).toBe("alice");
  });

  test("includes the end of a session", async () => {
    const kept = await Kept.open("Plain", {}, (session) => session.delete());
    await die(kept);
    const { session } = kept;
    expect((await session.request("ping")).status).toBe(404);
    expect((await session.send(notification("notifications/cancelled", { requestId: "a" }))).status).toBe(404);
    expect((await session.get()).status).toBe(404);
    expect((await session.delete()).status).toBe(404);
  });

  test("includes the extended lifetime of a session, beyond the time in its id", async () => {
    const ttlMs = 20_000;
    const overAtMs = Date.now() + ttlMs;
    const before = written("Brief");
    const kept = await Kept.open("Brief", {}, (session) =>
      until("it is renewed", async () => {
        expect((await session.request("ping")).status).toBe(200);
        return written("Brief").some((file) => !before.includes(file));
      }),
    );
    expect((await kept.state()).goodUntilMs).toBeGreaterThan(overAtMs);
    await die(kept);
    await pause(overAtMs - Date.now());
    expect((await kept.session.request("ping")).status).toBe(200);
  });

  test("includes pending URL elicitations, whose completion is notified", async () => {
    const capabilities = { elicitation: { form: {}, url: {} } };
    const key = newKey();
    const kept = await Kept.open("Plain", { capabilities }, async (session) => {
      const call = await answered(await session.stream("pay", { key }), session, { action: "accept" });
      expect(call.messages.at(-1)).toMatchObject({ result: { content: [{ text: "accept" }] } });
    });
    await die(kept);
    const stream = await kept.session.get();
    await until("the completion is notified", async () => {
      await tool("paid", { key });
      return stream.messages.length > 0;
    });
    expect(stream.messages[0]).toMatchObject({
      method: "notifications/elicitation/complete",
      params: { elicitationId: key },
    });
    stream.cut();
  });

  test("stays empty for a session that stored nothing", async () => {
    const before = written("Plain");
    const kept = await Kept.open("Plain", {}, (session) => session.request("ping"));
    await die(kept);
    expect((await readAnswer(kept.session.call("echo", { key: "k" }))).text).toBe("k");
    expect(written("Plain")).toEqual(before);
  });
});

describe("a session with little use", () => {
  test("has no object yet if it was only opened", async () => {
    const before = await objects("Plain");
    await Session.open(await at("Plain"), { silent: true });
    expect(await objects("Plain")).toEqual(before);
  });

  test.each<[what: string, use: (session: Session) => Promise<unknown>]>([
    ["was used", async () => undefined],
    ["listed its tools", (session) => session.request("tools/list")],
    ["called an unknown tool", (session) => session.call("nothing", {})],
    ["answered calls as JSON, many at once", (session) => Promise.all([1, 2, 3].map(() => echo(session)))],
    [
      "cancelled an unknown request",
      (session) => session.send(notification("notifications/cancelled", { requestId: 7 })),
    ],
    ["was used by another principal", (session) => session.with({ authorization: "Bearer bob" }).request("ping")],
    ["was resumed with an invalid event id", (session) => session.get("garbage", WRONG)],
    ["had an open GET stream without messages", silent],
  ])("stores not a single byte if it only %s", async (_, use) => {
    const before = written("Plain");
    const session = await Session.open(await at("Plain"), { token: "alice" });
    await use(session);
    expect((await readAnswer(session.call("echo", { key: "k" }))).text).toBe("k");
    expect(written("Plain")).toEqual(before);
  });

  async function echo(session: Session): Promise<void> {
    expect((await readAnswer(session.call("echo", { key: "k" }))).text).toBe("k");
  }

  async function silent(session: Session): Promise<void> {
    const stream = await session.get();
    await stream.has("its first event", ({ raw }) => raw !== "");
    stream.cut();
  }
});

describe("DELETE while calls run", () => {
  test("aborts and ends each call once, and every later request of the session gets 404", async () => {
    const session = await Session.open(await at("Plain"));
    const [told1, told2] = [newKey(), newKey()];
    const streamed = await session.stream("count", { key: told1, before: 2, after: 1 }, "streamed");
    await streamed.has("two events", ({ messages }) => messages.length === 2);
    const plain = readAnswer(session.call("count", { key: told2 }, "plain"));
    await noted(told1, "waiting");
    await noted(told2, "waiting");
    expect((await session.delete()).status).toBe(204);
    expect((await session.request("ping")).status).toBe(404);
    expect((await session.get(streamed.events.at(-1)?.id)).status).toBe(404);
    await noted(told1, "waiting aborted");
    await noted(told2, "waiting aborted");
    await streamed.end();
    const answers = [streamed.messages, (await plain).messages].map((messages) => messages.filter(({ id }) => id));
    expect(answers).toMatchObject([[{ id: "streamed" }], [{ id: "plain" }]]);
    expect(progressOf(streamed.messages).slice(0, 2)).toEqual([1, 2]);
  });

  test("prevents resuming a call that began before it and was cut", async () => {
    const session = await Session.open(await at("Plain"));
    const key = newKey();
    const call = await session.stream("count", { key, before: 1 });
    await call.has("an event", ({ messages }) => messages.length > 0);
    call.cut();
    expect((await session.delete()).status).toBe(204);
    expect((await session.get(call.events[0]?.id)).status).toBe(404);
    await noted(key, "waiting aborted");
  });
});

describe("a session with idleTimeoutMs", () => {
  test.each<[what: string, use: (session: Session) => Promise<unknown>]>([
    ["a request", (session) => session.request("ping")],
    ["a request that is refused", (session) => session.request("no/such/method")],
    ["a notification", (session) => session.send(notification("notifications/cancelled", { requestId: 7 }))],
    ["a response without a question", (session) => session.send({ jsonrpc: "2.0", id: 7, result: {} }, WRONG)],
    ["a GET stream", (session) => session.get().then((stream) => stream.cut())],
    ["a refused resume request", (session) => session.get("garbage", WRONG)],
  ])("is extended by %s", async (_, use) => {
    const kept = await Kept.open("Idle", {}, (session) => session.request("logging/setLevel", { level: "info" }));
    const before = (await kept.state()).goodUntilMs ?? Date.now();
    await until("it has more time", async () => {
      await use(kept.session);
      return Number((await kept.state()).goodUntilMs ?? 0) > Number(before);
    });
  });

  test("is not extended by a request of another principal", async () => {
    const kept = await Kept.open("Idle", { token: "alice" }, (session) =>
      session.request("logging/setLevel", { level: "info" }),
    );
    const before = await kept.state();
    const stranger = kept.session.with({ authorization: "Bearer bob" });
    for (let uses = 0; uses < 15; uses += 1) {
      expect((await stranger.request("ping")).status).toBe(404);
      expect((await stranger.get()).status).toBe(404);
      await pause(100);
    }
    expect(await kept.state()).toEqual(before);
  });
});
