/** The lifetime, the limits and the sharing of sessions. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cuttable, progressOf, Session, WRONG } from "../conformance/support.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type Members, notification } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { useTaps } from "./taps.ts";

const KINDS = ["Plain", "Small", "Full", "Brief", "Idle", "Shared", "Large", "Hasty", "Placed"] as const;

let worker: Workerd;
const tapped = useTaps();

beforeAll(async () => {
  const objects = KINDS.map((name) => `${name}Object`);
  worker = await Workerd.start({
    entry: "test/worker/fixtures/durable.ts",
    objects,
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const at = (kind: (typeof KINDS)[number]) => tapped(`${worker.origin}/${kind.toLowerCase()}/mcp`);

interface Look {
  readonly keys: readonly string[];
  readonly rows: Readonly<Record<string, number>>;
  readonly sockets: readonly { readonly behind?: object }[];
  readonly alarm: number | null;
  /** Undefined for objects of other roles. */
  readonly sessionsHeld?: number;
}

/** The contents of all objects of a kind. */
async function look(kind: (typeof KINDS)[number]): Promise<Look[]> {
  return (await fetch(`${worker.origin}/look/${kind}Object`)).json() as Promise<Look[]>;
}

const tool = async (name: string, key: string) =>
  (await readAnswer(new ModernClient(await at("Plain")).call(name, { key }))).text;
const release = (key: string) => tool("release", key);
/** Calls the tool that sends many events and releases it once its reader is connected. */
async function flood(session: Session, args: { key: string; events: number; size?: number }): Promise<Cuttable> {
  const stream = await session.stream("flood", args);
  await stream.has("the first", ({ messages }) => messages.length > 0);
  await release(args.key);
  return stream;
}

const methodsOf = (messages: readonly Members[]) => messages.map(({ method }) => method);
const values = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

let keys = 0;

function newKey(): string {
  keys += 1;
  return `key${keys}`;
}

describe("limits of a session", () => {
  test("a request beyond inFlightMax gets 429 with the name of the limit and Retry-After, and running requests continue", {
    tags: "long",
  }, async () => {
    const session = await Session.open(await at("Small"));
    const held = [newKey(), newKey()];
    const running = held.map((key) => readAnswer(session.call("hold", { key })));
    const refused = await until429(session);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await refused.json()).toMatchObject({
      id: "over",
      error: {
        code: -32600,
        message: expect.stringContaining("(sessions(): inFlightMax)"),
        data: { reason: "too-many" },
      },
    });
    // Requests that run no handler are still served.
    expect((await readAnswer(session.request("tools/list"))).status).toBe(200);
    for (const key of held) await release(key);
    expect((await Promise.all(running)).map(({ text }) => text)).toEqual(held);
    expect((await readAnswer(session.call("echo", { key: "after" }))).text).toBe("after");
  });

  /** Repeats a call until both other calls are in flight and it is refused. */
  async function until429(session: Session): Promise<Response> {
    let answer = await session.call("echo", { key: "over" }, "over");
    await until("a call is refused", async () => {
      if (answer.status === 429) return true;
      await answer.text();
      answer = await session.call("echo", { key: "over" }, "over");
      return answer.status === 429;
    });
    return answer;
  }

  test.each([
    ["streamBytesMax", "Small", 25],
    ["sessionBytesMax", "Full", 45],
  ] as const)(
    "when %s is exceeded, the oldest notifications of a stream are dropped; a resuming client is warned and gets the result",
    async (_, kind, max) => {
      const session = await Session.open(await at(kind));
      const key = newKey();
      const stream = await (await flood(session, { key, events: 100, size: 1_000 })).end();
      expect(progressOf(stream.messages)).toEqual(values(1, 100));
      const again = await (await session.get(stream.events[0]?.id)).end();
      const [warning, ...rest] = again.messages;
      expect(warning).toMatchObject({
        method: "notifications/message",
        params: { level: "warning", logger: "mcp-edge" },
      });
      const kept = progressOf(rest).map(Number);
      expect(kept).toEqual(values(kept[0] ?? 0, 100));
      expect(kept.length).toBeGreaterThan(5);
      expect(kept.length).toBeLessThan(max);
      expect(rest.at(-1)).toMatchObject({ result: { content: [{ text: key }] } });
      const [first] = again.events.slice(2);
      const after = await (await session.get(first?.id)).end();
      expect(progressOf(after.messages)).toEqual(kept.slice(1));
      expect(methodsOf(after.messages)).not.toContain("notifications/message");
    },
  );

  test("a large event is dropped as a whole, and a client that resumes is warned", async () => {
    const session = await Session.open(await at("Small"));
    const key = newKey();
    // The second of its two rows alone would fit.
    const stream = await (await flood(session, { key, events: 2, size: 265_000 })).end();
    const again = await (await session.get(stream.events[0]?.id)).end();
    expect(again.messages).toMatchObject([
      { params: { logger: "mcp-edge", data: expect.stringMatching(/^2 earlier/) } },
      { result: { content: [{ text: key }] } },
    ]);
  });

  test("after a reset of the object event ids continue after the newest one, whatever was dropped", async () => {
    const before = await worker.worker.objects("SmallObject");
    const session = await Session.open(await at("Small"));
    const stream = await session.stream("hold", { key: newKey(), events: 3, size: 30_000 });
    await stream.has("all notifications", ({ messages }) => messages.length === 3);
    const made = (await worker.worker.objects("SmallObject")).filter((id) => !before.includes(id));
    for (const id of made) await worker.worker.abort("SmallObject", id);
    await stream.end();
    expect(stream.messages.at(-1)).toMatchObject({ error: { data: { reason: "interrupted" } } });
  });

  test("when sessionBytesMax is exceeded, calls are refused until events have expired; results are never dropped", {
    tags: "long",
  }, async () => {
    const session = await Session.open(await at("Full"));
    // An open stream keeps the session in memory, with the sizes that it has counted.
    const listening = await session.get();
    const streams = [];
    for (let call = 0; call < 2; call += 1) {
      const key = `${call}${"y".repeat(30_000)}`;
      streams.push(await (await flood(session, { key, events: 1 })).end());
    }
    const refused = await session.call("echo", { key: "k" });
    expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, 3]);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining("sessionBytesMax") } });
    for (const [call, stream] of streams.entries()) {
      const again = await (await session.get(stream.events[0]?.id)).end();
      expect(again.messages.at(-1)).toMatchObject({ result: { content: [{ text: `${call}${"y".repeat(30_000)}` }] } });
    }
    await until("the logs are collected", async () => (await session.call("echo", { key: "k" })).status === 200);
    listening.cut();
  });

  test("a session whose logs are full refuses the first call even after its object was reset", async () => {
    const before = await worker.worker.objects("FullObject", "session");
    const session = await Session.open(await at("Full"));
    for (let call = 0; call < 2; call += 1) {
      const key = `${call}${"y".repeat(30_000)}`;
      await (await flood(session, { key, events: 1 })).end();
    }
    expect((await session.call("echo", { key: "k" })).status).toBe(429);
    const [object = ""] = (await worker.worker.objects("FullObject", "session")).filter((id) => !before.includes(id));
    await worker.worker.abort("FullObject", object);
    expect((await session.call("echo", { key: "k" })).status).toBe(429);
  });

  test("beyond ownStreamsMax a new GET stream replaces the oldest one", async () => {
    const session = await Session.open(await at("Small"));
    const streams = [await session.get(), await session.get(), await session.get()];
    await streams[0]?.end();
    expect(streams.map(({ isOver }) => isOver)).toEqual([true, false, false]);
    for (const stream of streams) stream.cut();
  });
});

describe("the lifetime of a session", () => {
  test("is extended when it is used late, at the cost of one row and the alarm", { tags: "long" }, async () => {
    const session = await Session.open(await at("Brief"));
    // Longer than the lifetime.
    for (const endMs = Date.now() + 4_500; Date.now() < endMs; await pause(50)) {
      expect((await session.request("ping")).status).toBe(200);
    }
    expect((await look("Brief")).at(-1)).toMatchObject({ keys: ["session"] });
    await pause(3_100);
    expect((await session.request("ping")).status).toBe(404);
    expect((await session.get()).status).toBe(404);
    await until("nothing is stored", async () => (await look("Brief")).every(({ keys }) => keys.length === 0));
  });

  test("ends with 404 if it was never used, and nothing was stored", async () => {
    const session = await Session.open(await at("Brief"), { silent: true });
    await pause(3_100);
    expect((await session.request("ping")).status).toBe(404);
  });

  test("ends with 404 if it is not used for idleTimeoutMs, and nothing stays stored", { tags: "long" }, async () => {
    const session = await Session.open(await at("Idle"));
    for (let uses = 0; uses < 5; uses += 1) {
      expect([uses, (await session.request("ping")).status]).toEqual([uses, 200]);
      await pause(600);
    }
    await pause(1_500);
    expect((await session.request("ping")).status).toBe(404);
    await until("nothing is stored", async () => {
      return (await look("Idle")).every(({ keys, alarm }) => keys.length === 0 && alarm === null);
    });
  });

  test("is extended by an open stream", { tags: "long" }, async () => {
    const session = await Session.open(await at("Idle"));
    const stream = await session.get();
    await pause(4_000);
    expect(stream.isOver).toBe(false);
    expect((await session.request("ping")).status).toBe(200);
    stream.cut();
    await pause(4_000);
    expect((await session.request("ping")).status).toBe(404);
    await until("nothing is stored", async () => {
      return (await look("Idle")).every(({ keys, alarm }) => keys.length === 0 && alarm === null);
    });
  });

  test("includes resumeMs in which an ended stream can be resumed, although an alarm runs in the meantime", async () => {
    const before = await worker.worker.objects("SmallObject", "session");
    const session = await Session.open(await at("Small"));
    const key = newKey();
    const stream = await (await flood(session, { key, events: 2 })).end();
    const [object = ""] = (await worker.worker.objects("SmallObject", "session")).filter((id) => !before.includes(id));
    expect(await worker.worker.runAlarm("SmallObject", object)).toBe(true);
    const again = await (await session.get(stream.events[0]?.id)).end();
    expect(again.messages).toEqual(stream.messages);
  });

  test("is longer than progressRetentionMs, after which progress of a running call is dropped", async () => {
    const session = await Session.open(await at("Brief"));
    const key = newKey();
    const stream = await session.stream("flood", { key, events: 1_000, pauseMs: 50 }, key);
    await release(key);
    const rows = async () => (await look("Brief")).at(-1)?.rows.event ?? 0;
    await until("rows were dropped", async () => stream.messages.length - (await rows()) > 5);
    expect(await rows()).toBeGreaterThan(0);
    await session.send(notification("notifications/cancelled", { requestId: key }));
    await stream.end();
  });

  test("leaves nothing of a call that was lost with its object, and whose client has left", async () => {
    const before = await worker.worker.objects("PlainObject", "session");
    const session = await Session.open(await at("Plain"));
    const stream = await session.stream("hold", { key: newKey(), events: 1 });
    await stream.has("the progress", ({ messages }) => messages.length === 1);
    const [object = ""] = (await worker.worker.objects("PlainObject", "session")).filter((id) => !before.includes(id));
    stream.cut();
    await until("the Worker has noticed that", async () => {
      return (await look("Plain")).every(({ sockets }) => sockets.length === 0);
    });
    await worker.worker.abort("PlainObject", object);
    await until("nothing is stored", async () => {
      const { tables, alarmAtMs } = await worker.worker.storage("PlainObject", object);
      return Object.keys(tables).length === 0 && alarmAtMs === undefined;
    });
  });

  test("ends for an abandoned session that streamed and subscribed, and nothing stays stored", {
    tags: "long",
  }, async () => {
    const session = await Session.open(await at("Brief"));
    await session.request("logging/setLevel", { level: "info" });
    await session.request("resources/subscribe", { uri: "test://a" });
    await (await flood(session, { key: newKey(), events: 1 })).end();
    const before = (await look("Brief")).at(-1);
    expect(before).toMatchObject({ keys: ["session"], rows: { stream: 1, event: 2 } });
    await until("nothing is stored", async () => {
      const now = (await look("Brief")).at(-1);
      return now?.keys.length === 0 && Object.keys(now.rows).length === 0 && now.alarm === null;
    });
  });
});

describe("messages that do not belong to a call", () => {
  test("wait for a GET stream if none is open, and are sent once", async () => {
    const session = await Session.open(await at("Full"), { capabilities: { roots: { listChanged: true } } });
    await session.request("logging/setLevel", { level: "info" });
    expect((await session.send(notification("notifications/roots/list_changed"))).status).toBe(202);
    await until("the message is stored", async () => {
      return (await look("Full")).some(({ rows }) => (rows.event ?? 0) === 1 && rows.stream === 1);
    });
    const stream = await session.get();
    await stream.has("the message", ({ messages }) => messages.length > 0);
    expect(stream.messages).toMatchObject([{ params: { level: "warning", data: "the roots are others now" } }]);
    stream.cut();
    const next = await session.get();
    await session.send(notification("notifications/roots/list_changed"));
    await next.has("the next message", ({ messages }) => messages.length > 0);
    expect(next.messages).toHaveLength(1);
    next.cut();
    // The other endpoints keep a stream that was left for a few seconds only.
    const resumed = await session.get(stream.events[0]?.id);
    await resumed.has("the first again", ({ messages }) =>
      messages.some(({ method }) => method === "notifications/message"),
    );
    resumed.cut();
  });

  test("are kept up to 64 KiB while they wait", async () => {
    const session = await Session.open(await at("Full"), { capabilities: { roots: { listChanged: true } } });
    await session.request("logging/setLevel", { level: "info" });
    await say(session, 4, 20_000);
    const stream = await session.get();
    await say(session, 1, 0);
    const isLast = ({ params }: Members) => (params as Members).data === "the roots are others now";
    await stream.has("the last message", ({ messages }) => messages.some(isLast));
    expect(stream.messages).toHaveLength(4);
    stream.cut();
  });

  test("are not dropped in favour of notifications of calls while they wait", async () => {
    const session = await Session.open(await at("Small"), { capabilities: { roots: { listChanged: true } } });
    await session.request("logging/setLevel", { level: "info" });
    await say(session, 3, 1_000);
    for (let calls = 0; calls < 3; calls += 1) {
      await (await flood(session, { key: newKey(), events: 30, size: 1_000 })).end();
    }
    const stream = await session.get();
    await stream.has("the messages", ({ messages }) => messages.length === 3);
    stream.cut();
  });

  test("are dropped after their lifetime while the stream is open, except for the last one", async () => {
    const others = await worker.worker.objects("PlainObject", "session");
    const session = await Session.open(await at("Plain"), { capabilities: { roots: { listChanged: true } } });
    await session.request("logging/setLevel", { level: "info" });
    const stream = await session.get();
    await say(session, 3, 0);
    await stream.has("the messages", ({ messages }) => messages.length === 3);
    const [id = ""] = (await worker.worker.objects("PlainObject", "session")).filter((each) => !others.includes(each));
    const rows = async () => (await worker.worker.storage("PlainObject", id)).tables;
    await until("one is left", async () => {
      await worker.worker.runAlarm("PlainObject", id);
      return (await rows()).event?.length !== 3;
    });
    expect(await rows()).toMatchObject({ stream: [{ session: 0 }], event: [{ seq: 3 }] });
    stream.cut();
  });

  /** Makes a handler send `times` messages of a given length, one after the other. */
  async function say(session: Session, times: number, size: number): Promise<void> {
    const client = new ModernClient(await at("Plain"));
    await readAnswer(client.call("talk", { key: "talk", size }));
    for (let count = 1; count <= times; count += 1) {
      await session.send(notification("notifications/roots/list_changed"));
      await until("it is said", async () => (await tool("heard", `told ${count}`)) === "true");
    }
  }
});

test("a notification is sent only on the latest GET stream, and on another when the latest has ended", async () => {
  const session = await Session.open(await at("Plain"));
  for (const uri of ["test://a", "test://b"]) await session.request("resources/subscribe", { uri });
  const [first, latest] = [await session.get(), await session.get()];
  for (let count = 0; count < 3; count += 1) await tool("touch", "test://a");
  await tool("touch", "test://b");
  const isOfB = ({ params }: Members) => (params as Members).uri === "test://b";
  await latest.has("the last notification", ({ messages }) => messages.some(isOfB));
  expect(first.messages).toEqual([]);
  latest.cut();
  await until("the other stream is notified", async () => {
    await tool("touch", "test://a");
    return first.messages.length > 0;
  });
  first.cut();
});

describe("several sessions in one object", () => {
  const open = async (token: string) => Session.open(await at("Shared"), { token });

  test("share it by key and have separate levels, cursors, cancellations and ends", async () => {
    const before = (await look("Shared")).length;
    const [one, two] = [await open("alice"), await open("alice")];
    expect(one.id).not.toBe(two.id);
    const key = newKey();
    await one.request("logging/setLevel", { level: "info" });
    const held = await one.stream("hold", { key, events: 1 }, "same");
    await held.has("progress", ({ messages }) => messages.length === 1);
    expect((await look("Shared")).length).toBe(before + 1);
    // An equal id in another session names another request.
    expect((await two.send(notification("notifications/cancelled", { requestId: "same" }))).status).toBe(202);
    expect(await tool("heard", `${key} aborted`)).toBe("false");
    expect((await two.get(held.events[0]?.id)).status).toBe(400);
    const foreign = await open("bob");
    expect((await foreign.with({ "mcp-session-id": one.id }).request("ping")).status).toBe(404);
    expect((await two.delete()).status).toBe(204);
    expect((await two.request("ping")).status).toBe(404);
    await release(key);
    await held.end();
    expect(held.messages.at(-1)).toMatchObject({ id: "same", result: { content: [{ text: key }] } });
    expect((await one.request("ping")).status).toBe(200);
  });

  test("are dropped when they are idle, and never while they are in use", { tags: "long" }, async () => {
    const before = (await look("Shared")).length;
    const made = async () => (await look("Shared")).slice(before).filter((each) => each.sessionsHeld !== undefined);
    const [calling, listening, ended] = [await open("crowd"), await open("crowd"), await open("crowd")];
    const [key, id] = [newKey(), "held"];
    const call = await calling.stream("hold", { key, events: 1 }, id);
    await call.has("progress", ({ messages }) => messages.length > 0);
    const standing = await listening.get();
    await readAnswer(listening.request("logging/setLevel", { level: "info" }));
    await ended.delete();
    // Its response is lost, so only the run itself shows that the session is in use.
    call.cut();
    await until("the answer is lost", async () => (await made()).at(-1)?.sockets.length === 1);
    await worker.worker.advance(2_000);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 20 }, () => open("crowd")));
    }
    const [object, ...others] = await made();
    expect(others).toEqual([]);
    expect(object?.sessionsHeld).toBeLessThan(70);
    // A running call can be cancelled, an open stream still gets messages, and stored state is still known.
    await calling.send(notification("notifications/cancelled", { requestId: id }));
    await until("the call is cancelled", async () => (await tool("heard", `${key} aborted`)) === "true");
    await listening.send(notification("notifications/roots/list_changed"));
    await standing.has("the message", ({ messages }) => messages.length > 0);
    expect((await readAnswer(ended.call("echo", { key }))).status).toBe(404);
  });

  test("have their own state, which contains no principal, after the object was evicted", async () => {
    const [one, two] = [await open("dave"), await open("dave")];
    for (const session of [one, two]) await session.request("logging/setLevel", { level: "info" });
    expect((await two.delete()).status).toBe(204);
    await worker.worker.evict("SharedObject");
    expect((await one.request("ping")).status).toBe(200);
    expect((await two.request("ping")).status).toBe(404);
    const objects = await worker.worker.objects("SharedObject");
    const stored = await Promise.all(objects.map((id) => worker.worker.storage("SharedObject", id)));
    expect(stored.some(({ keys }) => Object.keys(keys).length === 2)).toBe(true);
    expect(JSON.stringify(stored)).not.toContain("dave");
  });

  test("get their own subscriptions, once each", async () => {
    const [one, two] = [await open("carol"), await open("carol")];
    await one.request("resources/subscribe", { uri: "test://a" });
    await two.request("resources/subscribe", { uri: "test://b" });
    const [first, second] = [await one.get(), await two.get()];
    for (const uri of ["test://a", "test://b"]) await tool("touch", uri);
    for (const stream of [first, second]) await stream.has("an update", ({ messages }) => messages.length > 0);
    const uris = [first, second].map(({ messages }) => messages.map(({ params }) => (params as Members).uri));
    expect(uris).toEqual([["test://a"], ["test://b"]]);
    // The end of one session closes only its own streams.
    expect((await one.delete()).status).toBe(204);
    await first.end();
    expect(second.isOver).toBe(false);
    second.cut();
  });

  test("do not include a session without a key, which has its own object", async () => {
    const before = (await look("Shared")).length;
    for (const session of [await Session.open(await at("Shared")), await Session.open(await at("Shared"))]) {
      expect((await readAnswer(session.call("echo", { key: "k" }))).text).toBe("k");
    }
    expect((await look("Shared")).length).toBe(before + 2);
  });
});

test("an object gets the headers of a request only if the server reads them", async () => {
  const session = await Session.open(await at("Plain"));
  const headers = { ...session.headers, "x-secret": "of the client" };
  expect((await session.with(headers).call("echo", { key: "an argument" })).status).toBe(200);
  const posted = await (await fetch(`${worker.origin}/posted`)).text();
  expect(posted).toContain("an argument");
  expect(posted).not.toContain("of the client");
});

test("a location hint and a jurisdiction only affect the location, and are ignored where they are not supported", async () => {
  const session = await Session.open(await at("Placed"));
  expect((await readAnswer(session.call("echo", { key: "k" }))).text).toBe("k");
});

test("an event id of another session of the same object, or an invented one, is rejected with 400", async () => {
  const [one, two] = [await Session.open(await at("Plain")), await Session.open(await at("Plain"))];
  const stream = await (await flood(one, { key: newKey(), events: 1 })).end();
  for (const id of [stream.events[0]?.id ?? "", "garbage"]) expect((await two.get(id, WRONG)).status).toBe(400);
});

test("DELETE deletes the log at once, and a call that still runs keeps its stream until its end", async () => {
  const session = await Session.open(await at("Plain"));
  await (await flood(session, { key: newKey(), events: 3 })).end();
  const key = newKey();
  const running = await session.stream("hold", { key, events: 1 });
  await running.has("progress", ({ messages }) => messages.length === 1);
  const rows = async () => (await look("Plain")).map(({ rows: each }) => each.stream ?? 0).reduce((a, b) => a + b, 0);
  const before = await rows();
  expect((await session.delete()).status).toBe(204);
  // The call's row is kept, because otherwise its messages would be counted but never deleted.
  expect(await rows()).toBe(before - 1);
  await running.end();
  expect(running.messages.at(-1)).toMatchObject({ result: { content: [{ text: key }] } });
});

describe("streams of a session", () => {
  /** A session and the id of its object, which `use` creates. */
  async function openAlone(use: (session: Session) => Promise<unknown>): Promise<{ session: Session; object: string }> {
    const others = await worker.worker.objects("PlainObject", "session");
    const session = await Session.open(await at("Plain"), { silent: true });
    await use(session);
    const [object = ""] = (await worker.worker.objects("PlainObject", "session")).filter((id) => !others.includes(id));
    return { session, object };
  }

  test("a resumed GET stream gets a change notification for each list of the server, and for no other list", async () => {
    const session = await Session.open(await at("Plain"));
    const first = await session.get();
    await first.has("the priming event", ({ events }) => events.length > 0);
    first.cut();
    const again = await session.get(first.events[0]?.id);
    const lists = ["notifications/tools/list_changed", "notifications/resources/list_changed"];
    await again.has("both lists", ({ messages }) => lists.every((method) => methodsOf(messages).includes(method)));
    expect(methodsOf(again.messages).sort()).toEqual([...lists].sort());
    again.cut();
  });

  test("when the latest GET stream of a session is closed, the previous one gets notifications again", async () => {
    const session = await Session.open(await at("Plain"));
    const [first, second] = [await session.get(), await session.get()];
    second.cut();
    await until("the first stream gets a list change", async () => {
      await tool("shout", "list");
      return methodsOf(first.messages).includes("notifications/tools/list_changed");
    });
    first.cut();
  });

  test("a stream number is never reused, even if its object has deleted everything", async () => {
    const numberOf = ({ events }: Cuttable) => Number.parseInt(events[0]?.id?.split("-")[1] ?? "", 36);
    const call = (session: Session) => flood(session, { key: newKey(), events: 2 });
    let earlier = Number.NaN;
    const { session, object } = await openAlone(async (opened) => {
      earlier = numberOf(await (await call(opened)).end());
    });
    await until("nothing is stored", async () => {
      const { tables, keys } = await worker.worker.storage("PlainObject", object);
      return Object.keys(tables).length + Object.keys(keys).length === 0;
    });
    await worker.worker.evict("PlainObject", object);
    expect(numberOf(await (await call(session)).end())).toBeGreaterThan(earlier);
  });

  test("the stream of a call that was cancelled before its first message has ended and cannot be resumed", {
    tags: "long",
  }, async () => {
    const session = await Session.open(await at("Plain"));
    const stream = await session.stream("hold", { key: newKey() }, "cancelled");
    await stream.has("the priming event", ({ events }) => events.length > 0);
    await session.send(notification("notifications/cancelled", { requestId: "cancelled" }));
    await stream.end();
    expect((await session.get(stream.events[0]?.id)).status).toBe(405);
  });
});
