/** Notifications through the hub: across isolates, from any place, through losses of every kind, and in shards. */
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hasBeatenAgain, Listener, PROMPTS, RESOURCES, TOOLS } from "../conformance/listen-support.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { LEGACY_VERSIONS } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { LegacyClient, readAnswer } from "./client.ts";
import type { Seen } from "./fixtures/hubs.ts";

const SHARDS = Array.from({ length: 8 }, (_, index) => `shard-${index}`);
/** The objects of the hub that grows when an object has three streams. */
const OBJECTS = Array.from({ length: 16 }, (_, index) => `growing-0${index ? `.${index}` : ""}`);

let worker: Workerd;
let [tap, twin, sharded, growing, growingTwin]: HttpTap[] = [];
let listeners: Listener[] = [];
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/hubs.ts",
    objects: { MCP: "McpObject", SHARDED: "ShardedObject", GROWING: "GrowingObject" },
    bindings: { MCP_KEYS: newKeys() },
    twin: true,
  });
});
afterAll(() => worker?.stop());
beforeEach(openTaps);
afterEach(async () => {
  for (const listener of listeners) listener.leave();
  listeners = [];
  for (const name of ["hub", ...SHARDS, ...OBJECTS]) {
    await until(`${name} has no socket`, async () => (await seen(name)).sockets === 0);
  }
  await closeTaps();
});

/** Opens taps that share one oracle, because the messages of one conversation take different routes. */
async function openTaps(): Promise<void> {
  const oracle = new WireOracle();
  const tapOf = (path: string) => startHttpTap(`${worker.origin}${path}`, { oracle });
  const paths = ["/mcp", "/twin/mcp", "/sharded", "/growing", "/twin/growing"];
  [tap, twin, sharded, growing, growingTwin] = await Promise.all(paths.map(tapOf));
}

async function closeTaps(): Promise<void> {
  const all = [tap, twin, sharded, growing, growingTwin];
  await Promise.all(all.map((each) => each?.close()));
  // A test without a client has nothing to check.
  if (all.some((each) => each?.exchanges.length)) tap?.oracle.expectClean();
}

async function post(path: string, subjects: readonly string[] = []): Promise<unknown> {
  const response = await fetch(`${worker.origin}${path}`, { method: "POST", body: JSON.stringify(subjects) });
  expect(response.status).toBe(200);
  return response.json();
}

/** Publishes in one turn of one isolate. */
const publish = (...subjects: string[]) => post("/publish/one", subjects);
const harm = async (deed: string, subjects: readonly string[] = [], name = "hub") =>
  (await post(`/hub/${name}/${deed}`, subjects)) as Seen;
const seen = (name = "hub") => harm("look", [], name);
const errors = async () => (await fetch(`${worker.origin}/errors`)).json() as Promise<string[]>;

async function listen(lists: readonly string[], uris: readonly string[], url = tap?.url ?? ""): Promise<Listener> {
  const kinds = Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true]));
  const listener = await Listener.open(url, { ...kinds, resourceSubscriptions: uris });
  listeners.push(listener);
  return listener;
}

/** The GET stream of a session that is subscribed to some resources. */
async function session(uris: readonly string[], url = tap?.url ?? "", version = "2025-11-25") {
  const capabilities = { elicitation: { form: {}, url: {} } };
  const client = await LegacyClient.open(url, { version, capabilities });
  const listener = await Listener.ofSession(client);
  listeners.push(listener);
  for (const uri of uris) await subscribe(client, uri);
  return { client, listener };
}

async function subscribe(client: LegacyClient, uri: string, method = "resources/subscribe"): Promise<void> {
  expect((await readAnswer(client.request(method, { uri }))).messages).toMatchObject([{ result: {} }]);
}

/** Breaks every socket while some resources change, and waits until the Workers have reconnected. */
async function cut(...uris: string[]): Promise<void> {
  const before = await seen();
  await harm("cut", uris);
  await until("the links are back", async () => (await seen()).asked >= before.asked + before.sockets);
}

/** Publishes a last notification; everything sent before has arrived by then. */
async function mark(marker: string, ...all: Listener[]): Promise<void> {
  await publish(marker);
  await Promise.all(all.map((listener) => listener.hears(marker)));
}

let uris = 0;

function newUri(): string {
  uris += 1;
  return `test://uri-${uris}`;
}

describe("a notification published in one isolate", () => {
  test.each(["/publish/one", "/twin/publish/one"])(
    "reaches both isolates' streams once through %s",
    { tags: "long" },
    async (path) => {
      const [a, b, last] = [newUri(), newUri(), newUri()];
      const urls = [tap?.url, twin?.url];
      const modern = await Promise.all(urls.map((url) => listen(["tools", "prompts", "resources"], [a, last], url)));
      const legacy: Listener[] = [];
      for (const url of urls) {
        for (const version of LEGACY_VERSIONS) legacy.push((await session([a, last], url, version)).listener);
      }
      await post(path, ["tools", "tools", "prompts"]);
      await post(path, [a, b]);
      await post(path, ["resources"]);
      await mark(last, ...modern, ...legacy);
      for (const { notifications } of [...modern, ...legacy])
        expect([...notifications].sort()).toEqual([TOOLS, PROMPTS, RESOURCES, a, last].sort());
    },
  );
});

describe("a notification published outside of a client's request", () => {
  test("reaches streams from a cron job", { tags: "long" }, async () => {
    const both = [await listen([], ["test://cron"]), (await session(["test://cron"], twin?.url)).listener];
    await worker.worker.runCron();
    for (const listener of both) await listener.hears("test://cron");
  });

  test("reaches streams from a queue", { tags: "long" }, async () => {
    const uri = newUri();
    const both = [await listen(["tools"], [uri]), (await session([uri], twin?.url)).listener];
    await worker.worker.runQueue("subjects", ["tools", uri]);
    for (const listener of both) await Promise.all([listener.hears(TOOLS), listener.hears(uri)]);
  });

  test("reaches streams from the alarm of an object", async () => {
    const uri = newUri();
    const both = [await listen([], [uri]), (await session([uri], twin?.url)).listener];
    await harm("alarm", [uri], "another object");
    for (const listener of both) await listener.hears(uri);
  });
});

test("a burst in one turn causes one call of the hub, and equal notifications are sent once", async () => {
  const all = Array.from({ length: 50 }, newUri);
  const listener = await listen(["tools"], all);
  const { published } = await seen();
  await publish(...all, ...all, "tools", "tools");
  await Promise.all([TOOLS, ...all].map((notification) => listener.hears(notification)));
  expect((await seen()).published).toBe(published + 1);
  await hasBeatenAgain(listener);
  expect([...listener.notifications].sort()).toEqual([...all, TOOLS].sort());
});

describe("a lost socket to the hub", () => {
  test("hub: causes no notifications when nothing was missed", { tags: "long" }, async () => {
    const [a, b] = [newUri(), newUri()];
    const both = [await listen(["tools"], [a, b]), (await session([a, b])).listener];
    await publish(a);
    await Promise.all(both.map((listener) => listener.hears(a)));
    await cut();
    await cut(newUri());
    await mark(b, ...both);
    for (const { notifications } of both) expect(notifications).toEqual([a, b]);
  });

  test("hub: causes one notification for each subject that changed meanwhile, and for no other", async () => {
    const [a, b, c, last] = [newUri(), newUri(), newUri(), newUri()];
    const both = [await listen(["tools"], [a, b, c, last]), (await session([a, b, c, last], twin?.url)).listener];
    await publish(c);
    await Promise.all(both.map((listener) => listener.hears(c)));
    await cut(a, newUri(), a, b);
    await mark(last, ...both);
    for (const { notifications } of both) expect(notifications).toEqual([c, a, b, last]);
  });

  test("hub: causes a notification for every subject when more changed meanwhile than the hub stores", async () => {
    const [a, last] = [newUri(), newUri()];
    const listener = await listen(["tools", "prompts"], [a, last]);
    await cut(...Array.from({ length: 5_000 }, newUri));
    await Promise.all([TOOLS, PROMPTS, a, last].map((notification) => listener.hears(notification)));
    await hasBeatenAgain(listener);
    expect(listener.notifications).toHaveLength(4);
  });

  test("hub: does not lose a filter change, which is active when its request gets a response", async () => {
    const [a, b] = [newUri(), newUri()];
    const { client, listener } = await session([a]);
    await harm("cut");
    await subscribe(client, b);
    await mark(b, listener);
    await mark(a, listener);
    expect(listener.notifications).toEqual([b, a]);
  });
});

describe("a hub that restarts", () => {
  test("hub: sends one notification for every subject after a reset", async () => {
    const [a, b] = [newUri(), newUri()];
    const both = [await listen(["tools"], [a, b]), (await session([a, b], twin?.url)).listener];
    const before = await seen();
    const after = await harm("reset");
    expect(after.life).not.toBe(before.life);
    await publish(b);
    for (const listener of both) await Promise.all([TOOLS, a, b].map((notification) => listener.hears(notification)));
    await Promise.all(both.map(hasBeatenAgain));
    // The legacy session is notified of every list; what was published while the socket was down may be repeated.
    expect(both.map(({ notifications }) => new Set(notifications))).toEqual([
      new Set([TOOLS, a, b]),
      new Set([TOOLS, PROMPTS, RESOURCES, a, b]),
    ]);
    for (const { notifications } of both)
      expect(notifications.filter((notification) => notification !== b)).toHaveLength(new Set(notifications).size - 1);
  });

  test("hub: does not treat hibernation as a gap for a socket that stays open", { tags: "long" }, async () => {
    const [a, b, last] = [newUri(), newUri(), newUri()];
    const both = [await listen(["tools"], [a, b, last]), (await session([a, b, last], twin?.url)).listener];
    await publish(a);
    await Promise.all(both.map((listener) => listener.hears(a)));
    const before = await seen();
    await worker.worker.evict("McpObject", "hub:0");
    const after = await seen();
    expect([after.life === before.life, after.sockets]).toEqual([false, before.sockets]);
    await publish(b);
    await Promise.all(both.map((listener) => listener.hears(b)));
    // By now they have the new epoch.
    await cut();
    await mark(last, ...both);
    for (const { notifications } of both) expect(notifications).toEqual([a, b, last]);
  });

  test("hub: treats changes that were lost in hibernation as missed by a socket that is lost then", async () => {
    const [a, b] = [newUri(), newUri()];
    const listener = await listen(["tools"], [a, b]);
    await publish(a);
    await listener.hears(a);
    await worker.worker.evict("McpObject", "hub:0");
    await harm("cut", [b]);
    await Promise.all([listener.hears(TOOLS), listener.hears(a, 2), listener.hears(b)]);
    await hasBeatenAgain(listener);
    expect(listener.notifications).toHaveLength(4);
  });

  test("hub: after SIGKILL sends notifications to clients that reconnect, and keeps subscriptions of sessions", {
    tags: "long",
  }, async () => {
    const [a, b] = [newUri(), newUri()];
    const { client } = await session([a]);
    await listen([], [b]);
    await closeTaps();
    await worker.killAndRestart();
    await openTaps();
    const legacy = await Listener.ofSession(client.at(tap?.url ?? ""));
    listeners.push(legacy);
    const modern = await listen([], [b], twin?.url);
    await publish(a, b);
    await Promise.all([legacy.hears(a), modern.hears(b)]);
    expect([legacy.notifications, modern.notifications]).toEqual([[a], [b]]);
  });
});

test("hub: whatever happens to sockets and hub, every changed subject is notified", { tags: "long" }, async () => {
  const deed = fc.constantFrom("publish", "publish in the other isolate", "cut", "reset", "sleep");
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 2, maxLength: 8 }), async (deeds) => {
      const all = deeds.map(newUri);
      const both = [await listen([], all), (await session(all, twin?.url)).listener];
      for (const [index, what] of deeds.entries()) {
        const uri = all[index] ?? "";
        if (what === "publish") await publish(uri);
        else if (what === "publish in the other isolate") await post("/twin/publish/one", [uri]);
        else if (what === "cut") await harm("cut", [uri]);
        else {
          if (what === "reset") await harm("reset");
          else await worker.worker.evict("McpObject", "hub:0");
          await publish(uri);
        }
      }
      for (const listener of both) await Promise.all(all.map((uri) => listener.hears(uri)));
      for (const listener of both) listener.leave();
    }),
    { numRuns: 15 },
  );
});

test("a filter too large to be stored with a socket admits only its subjects, even after hibernation", async () => {
  const all = Array.from({ length: 100 }, () => `${newUri()}-${"x".repeat(100)}`);
  const [first = "", second = ""] = all;
  const listener = await listen([], all);
  await publish(newUri(), "tools", first);
  await listener.hears(first);
  await worker.worker.evict("McpObject", "hub:0");
  await publish(newUri(), "tools", second);
  await listener.hears(second);
  await hasBeatenAgain(listener);
  expect(listener.notifications).toEqual([first, second]);
});

describe("the completion of an elicitation", () => {
  const COMPLETE = "notifications/elicitation/complete";

  /** The GET stream of a session that was asked to visit a URL. */
  async function visitor(): Promise<Listener> {
    const { client, listener } = await session([]);
    const call = new Listener(await client.call("visit"), new AbortController());
    await call.reading.has("the question", ({ messages }) => messages.length > 0);
    await client.send({ jsonrpc: "2.0", id: call.messages[0]?.id, result: { action: "accept" } });
    await call.reading.has("the result", ({ isOver }) => isOver);
    return listener;
  }

  test("is notified after a loss if it is stored, and is never guessed", { tags: "long" }, async () => {
    const listener = await visitor();
    await harm("reset");
    await Promise.all([TOOLS, PROMPTS, RESOURCES].map((notification) => listener.hears(notification)));
    await cut();
    await hasBeatenAgain(listener);
    expect(listener.notifications).not.toContain(COMPLETE);
    await cut("done:visit");
    await listener.hears(COMPLETE);
    // Before the Worker can reconnect.
    await harm("reset");
    await publish("done:visit");
    await listener.hears(COMPLETE, 2);
  });
});

describe("notifications that cannot be delivered", () => {
  test("a socket that fails does not affect others, is reported to onError, and its stream is notified later", {
    tags: "long",
  }, async () => {
    const all = [await listen(["tools"], []), await listen(["tools"], []), await listen(["tools"], [], twin?.url)];
    await harm("spoil");
    const before = (await errors()).length;
    await publish("tools");
    await Promise.all(all.map((listener) => listener.hears(TOOLS)));
    await until("onError was called", async () => (await errors()).length > before);
    expect((await errors()).slice(before)).toEqual([expect.stringMatching(/missed a notification: 1$/)]);
    for (const { notifications } of all) expect(notifications).toEqual([TOOLS]);
  });

  test("a publish that fails because of a reset is retried", async () => {
    const a = newUri();
    const listener = await listen([], [a]);
    const before = (await errors()).length;
    await harm("reset-at-next");
    await publish(a);
    await listener.hears(a);
    expect((await seen()).published).toBe(1);
    expect((await errors()).slice(before)).toEqual([]);
  });

  test("log data that cannot be represented in JSON does not prevent other notifications of its turn", async () => {
    const { client, listener } = await session([]);
    await readAnswer(client.request("logging/setLevel", { level: "debug" }));
    await publish("log", "tools");
    await Promise.all([listener.hears(TOOLS), listener.hears("notifications/message")]);
  });
});

describe("hub: shards", () => {
  const socketsOf = async () => Promise.all(SHARDS.map(async (name) => (await seen(name)).sockets));
  const publishedOf = async () => Promise.all(SHARDS.map(async (name) => (await seen(name)).published));
  const rises = (before: number[], after: number[]) =>
    after.flatMap((count, at) => (count > (before[at] ?? 0) ? [at] : []));

  test.each(["0", "-1", "1.5", "33", "NaN"])("hub: %s shards are refused, naming the allowed range", async (number) => {
    const refused = await (await fetch(`${worker.origin}/shards/${number}`)).text();
    expect(refused).toBe(`options-invalid: hub(): shards is ${number}; use 1 to 32.`);
  });

  test("hub: each subject has one shard, the same in every isolate, for listeners and publishers", {
    tags: "long",
  }, async () => {
    const used = new Set<number>();
    for (const subject of ["tools", "prompts", "resources", ...Array.from({ length: 9 }, newUri)]) {
      const isList = !subject.startsWith("test:");
      const [none, published] = [await socketsOf(), await publishedOf()];
      const listener = await (isList ? listen([subject], [], sharded?.url) : listen([], [subject], sharded?.url));
      const dialled = rises(none, await socketsOf());
      expect(dialled).toHaveLength(1);
      await post("/twin/publish/sharded", [subject]);
      await listener.hears(isList ? `notifications/${subject}/list_changed` : subject);
      expect(rises(published, await publishedOf())).toEqual(dialled);
      expect((await seen()).sockets).toBe(0);
      used.add(dialled[0] ?? -1);
    }
    expect(used.size).toBeGreaterThan(2);
  });

  test("hub: a filter that grows and shrinks opens and closes sockets, and gets a response when all of it is active", {
    tags: "long",
  }, async () => {
    const all = Array.from({ length: 12 }, newUri);
    const { client, listener } = await session([], sharded?.url);
    const before = await socketsOf();
    for (const uri of all) await subscribe(client, uri);
    expect(rises(before, await socketsOf())).not.toEqual([]);
    await post("/publish/sharded", [...all, "tools"]);
    await Promise.all([TOOLS, ...all].map((notification) => listener.hears(notification)));
    for (const uri of all) await subscribe(client, uri, "resources/unsubscribe");
    await until("the links of before", async () => `${await socketsOf()}` === `${before}`);
    await post("/publish/sharded", all);
    await post("/publish/sharded", ["prompts"]);
    await listener.hears(PROMPTS);
    await hasBeatenAgain(listener);
    expect([...listener.notifications].sort()).toEqual([...all, TOOLS, PROMPTS].sort());
  });

  test("hub: a burst causes one call for each shard that it concerns", async () => {
    const all = Array.from({ length: 40 }, newUri);
    const listener = await listen([], all, sharded?.url);
    const before = await publishedOf();
    await post("/publish/sharded", all);
    await Promise.all(all.map((uri) => listener.hears(uri)));
    const calls = (await publishedOf()).map((count, at) => count - (before[at] ?? 0));
    expect(Math.max(...calls)).toBe(1);
  });

  test("hub: a reset of a shard causes notifications of its own subjects only", async () => {
    const all = Array.from({ length: 12 }, newUri);
    const listener = await listen([], all, sharded?.url);
    const shard = (await socketsOf()).findIndex((sockets) => sockets > 0);
    await harm("reset", [], `shard-${shard}`);
    await until("it is back", async () => (await socketsOf())[shard] === 1);
    await hasBeatenAgain(listener);
    const synthetic = [...listener.notifications];
    const [published, own] = [await publishedOf(), synthetic.length];
    expect(own).toBeGreaterThan(0);
    expect(own).toBeLessThan(all.length);
    await post("/publish/sharded", synthetic);
    await until("they are notified", () => listener.notifications.length === own * 2);
    expect(rises(published, await publishedOf())).toEqual([shard]);
  });

  test("hub: a stream with an empty filter does not open a socket and stays open", async () => {
    const listener = await listen([], [], sharded?.url);
    await hasBeatenAgain(listener);
    expect(await socketsOf()).toEqual(SHARDS.map(() => 0));
    expect(listener.reading.isOver).toBe(false);
  });
});

describe("hub: a shard with several objects", () => {
  const all = () => Promise.all(OBJECTS.map((name) => seen(name)));
  const requestsOf = async () => (await all()).map(({ requests }) => requests);
  const objectsOf = async () => (await seen(OBJECTS[0])).objects;
  /** Requests to each object since then, without the last objects that had none. */
  const since = async (before: number[]) => {
    const counts = (await requestsOf()).map((count, at) => count - (before[at] ?? 0));
    return counts.slice(0, counts.findLastIndex((count) => count > 0) + 1);
  };
  /** Opens streams through both isolates. */
  const listenMany = (count: number, subjects: readonly string[]) =>
    Promise.all(Array.from({ length: count }, (_, at) => listen([], subjects, (at % 2 ? growing : growingTwin)?.url)));

  /** Opens so many streams that the hub grows to at least 8 objects, and closes them. */
  const grow = async () => {
    if ((await objectsOf()) >= 8) return;
    const many = await listenMany(14, [newUri()]);
    for (const listener of many) listener.leave();
    await until("they are gone", async () => (await all()).every(({ sockets }) => sockets === 0));
  };

  // First, because the number of objects never falls.
  test("costs one request for each of a few streams and one for a publication, and none for idle streams", async () => {
    const uri = newUri();
    const before = await requestsOf();
    const three = await listenMany(3, [uri]);
    expect(await since(before)).toEqual([3]);
    await post("/publish/growing", [uri]);
    await Promise.all(three.map((listener) => listener.hears(uri)));
    expect(await since(before)).toEqual([4]);
    const { asked } = await seen(OBJECTS[0]);
    await Promise.all(three.map(hasBeatenAgain));
    expect(await since(before)).toEqual([4]);
    expect((await seen(OBJECTS[0])).asked).toBe(asked);
    expect(await objectsOf()).toBe(1);
  });

  test("grows from one object to several while notifications are published, and no stream misses a notification", {
    tags: "long",
  }, async () => {
    const subjects = Array.from({ length: 30 }, newUri);
    const due = new Map<Listener, readonly string[]>();
    let published = 0;
    const attach = async (at: number) => {
      const url = (at % 2 ? growing : growingTwin)?.url ?? "";
      const listener = at % 5 ? await listen([], subjects, url) : (await session(subjects, url)).listener;
      // What is published from now on may not be missed.
      due.set(listener, subjects.slice(published));
    };
    const attached = Promise.all(Array.from({ length: 14 }, (_, at) => attach(at)));
    for (const [at, uri] of subjects.entries()) {
      published = at + 1;
      await post(at % 2 ? "/publish/growing" : "/twin/publish/growing", [uri]);
      if (at === 20) await attached;
    }
    expect(due.size).toBe(14);
    for (const [listener, expected] of due) await Promise.all(expected.map((uri) => listener.hears(uri)));
    for (const { notifications } of due.keys()) expect(new Set(notifications).size).toBe(notifications.length);
    const sockets = (await all()).map((object) => object.sockets);
    expect(Math.max(...sockets)).toBeLessThanOrEqual(3);
    expect(sockets.reduce((sum, each) => sum + each)).toBe(14);
    expect(await objectsOf()).toBeGreaterThanOrEqual(8);
  });

  test("costs one request per object for a publication, which reaches every stream", async () => {
    const uri = newUri();
    const many = await listenMany(14, [uri]);
    const before = await requestsOf();
    await post("/publish/growing", [uri]);
    await Promise.all(many.map((listener) => listener.hears(uri)));
    await Promise.all(many.map(hasBeatenAgain));
    expect(await since(before)).toEqual(Array.from({ length: await objectsOf() }, () => 1));
    for (const { notifications } of many) expect(notifications).toEqual([uri]);
  });

  test("keeps the streams of a principal in one object", { tags: "long" }, async () => {
    await grow();
    for (const subject of ["alice", "bob"]) {
      const url = `${growing?.url}?as=${subject}`;
      const three = await Promise.all([["tools"], ["prompts"], ["tools"]].map((lists) => listen(lists, [], url)));
      const counts = (await all()).map(({ sockets }) => sockets).filter((sockets) => sockets > 0);
      expect(counts).toEqual([3]);
      for (const listener of three) listener.leave();
      await until("they are gone", async () => (await all()).every(({ sockets }) => sockets === 0));
    }
  });

  test("still has all its objects at the root after every object was reset or has hibernated", {
    tags: "long",
  }, async () => {
    const [a, b] = [newUri(), newUri()];
    await grow();
    const many = await listenMany(8, [a, b]);
    for (const name of OBJECTS) await worker.worker.evict("GrowingObject", `hub:${name.slice("growing-".length)}`);
    await post("/publish/growing", [a]);
    await Promise.all(many.map((listener) => listener.hears(a)));
    const places = (await all()).map(({ sockets }) => sockets);
    for (const name of OBJECTS) await harm("reset", [], name);
    await until("they are back", async () => `${(await all()).map(({ sockets }) => sockets)}` === `${places}`);
    await post("/twin/publish/growing", [b]);
    await Promise.all(many.map((listener) => listener.hears(b)));
  });

  test("calls a branch again that is reset while the root publishes", async () => {
    const uri = newUri();
    await grow();
    const many = await listenMany(8, [uri]);
    const before = (await errors()).length;
    const branch = OBJECTS[(await all()).findIndex(({ sockets }, at) => at > 0 && sockets > 0)] ?? "";
    await harm("reset-at-next", [], branch);
    await post("/publish/growing", [uri]);
    await Promise.all(many.map((listener) => listener.hears(uri)));
    expect((await seen(branch)).published).toBe(1);
    expect((await errors()).slice(before)).toEqual([]);
  });

  test("reports a socket that fails in a branch to the publisher's onError", async () => {
    await grow();
    const some = await Promise.all(Array.from({ length: 8 }, () => listen(["tools"], [], growing?.url)));
    const branch = OBJECTS[(await all()).findIndex(({ sockets }, at) => at > 0 && sockets > 0)] ?? "";
    await harm("spoil", [], branch);
    const before = (await errors()).length;
    await post("/publish/growing", ["tools"]);
    await Promise.all(some.map((listener) => listener.hears(TOOLS)));
    await until("onError was called", async () => (await errors()).length > before);
    expect((await errors()).slice(before)).toEqual([expect.stringMatching(/missed a notification: 1$/)]);
  });
});
