// @module-tag long
/** The sources of notifications, and how listen streams end or survive. */
import { describe, expect, test } from "vitest";
import { LEGACY_VERSIONS } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, ModernClient, readAnswer } from "../worker/client.ts";
import {
  ACKNOWLEDGED,
  EVERYTHING,
  hasBeatenAgain,
  Listener,
  listen,
  listenLab,
  NOTICES,
  nameOf,
  SUBSCRIPTION_ID,
  subscriptionOf,
  TOOLS,
} from "./listen-support.ts";
import { errorOf, modern, resultOf } from "./modern.ts";

const lab = listenLab();
const { open, publish, publishAll, watched, deed } = lab;

describe("a listen stream that is closed gracefully", () => {
  test.each([0, "s"])("ends with the response to its request, with the subscriptionId %j", async (id) => {
    const listener = await open(EVERYTHING, id);
    await publishAll(listener);
    await deed("retire");
    await listener.reading.has("end of the stream", ({ isOver }) => isOver);
    expect(listener.messages.slice(0, -1).map(nameOf)).toEqual([ACKNOWLEDGED, ...NOTICES]);
    expect(listener.messages.at(-1)).toMatchObject({
      id,
      result: { resultType: "complete", _meta: { [SUBSCRIPTION_ID]: id } },
    });
    expect(lab.tap.exchanges.at(-1)).toMatchObject({ complete: true });
  });

  test("releases its resources, and the client can listen again", async () => {
    const uri = "test://many/graceful";
    const listener = await open({ resourceSubscriptions: [uri] });
    await deed("retire");
    await listener.reading.has("end of the stream", ({ isOver }) => isOver);
    await until("it is released", async () => (await watched()).includes(`-${uri}`));
    const again = await open({ resourceSubscriptions: [uri] });
    await publish(uri);
    await again.hears(uri);
    expect(again.notifications).toEqual([uri]);
    expect((await watched()).filter((each) => each.endsWith(uri))).toEqual([`+${uri}`, `-${uri}`, `+${uri}`]);
  });
});

describe("a listen stream whose client disconnects", () => {
  test("releases its resources, and resources of other clients are still watched", async () => {
    const uris = ["test://many/leaver-1", "test://many/leaver-2"];
    const leaver = await open({ resourceSubscriptions: uris });
    const stayer = await open({ resourceSubscriptions: ["test://many/stayer"] });
    expect(await watched()).toEqual(expect.arrayContaining([...uris.map((uri) => `+${uri}`), "+test://many/stayer"]));
    leaver.leave();
    await until("both are released", async () => {
      const seen = await watched();
      return uris.every((uri) => seen.includes(`-${uri}`));
    });
    const seen = await watched();
    for (const uri of uris) expect(seen.filter((each) => each.endsWith(uri))).toEqual([`+${uri}`, `-${uri}`]);
    expect(seen).not.toContain("-test://many/stayer");
    await publish("test://many/stayer");
    await stayer.hears("test://many/stayer");
  });

  test("releases its resources even before the acknowledgement, and together with many others", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `test://many/crowd-${index}`);
    const crowd = names.map(async (uri, index) => {
      const leave = new AbortController();
      const opening = listen(lab.tap.url, { resourceSubscriptions: [uri] }, index, leave.signal).catch(() => undefined);
      if (index % 2 === 0) await opening;
      leave.abort();
      await opening;
    });
    await Promise.all(crowd);
    await until("none of the crowd is watched", async () => {
      const seen = await watched();
      // A client that disconnected at once may never have been watched; every watched one must be released.
      const isSettled = names.filter((_, index) => index % 2 === 0).every((uri) => seen.includes(`-${uri}`));
      return isSettled && names.every((uri) => seen.includes(`+${uri}`) === seen.includes(`-${uri}`));
    });
  });
});

describe("a listen stream", () => {
  test("carries no progress and no log messages, whatever the client requests", async () => {
    const _meta = { progressToken: "token", "io.modelcontextprotocol/logLevel": "debug" };
    const leave = new AbortController();
    const listener = new Listener(await listen(lab.tap.url, EVERYTHING, "token", leave.signal, _meta), leave);
    lab.listeners.push(listener);
    const client = new ModernClient(lab.tap.url);
    const spoken = await readAnswer(client.call("speak", {}, { id: "call", progressToken: "token" }));
    expect(spoken.messages.map(({ method }) => method)).toContain("notifications/progress");
    const session = await LegacyClient.open(lab.tap.url);
    await readAnswer(session.request("logging/setLevel", { level: "debug" }));
    expect((await readAnswer(session.call("speak", {}, { progressToken: "token" }))).text).toBe("spoken");
    await publish("tools");
    await listener.hears(TOOLS);
    expect(listener.messages.map(({ method }) => method)).toEqual([ACKNOWLEDGED, TOOLS]);
  });

  test("carries no requests and no responses to other requests", async () => {
    const listener = await open(EVERYTHING, 1);
    const client = new ModernClient(lab.tap.url);
    expect((await readAnswer(client.call("publish", { subject: "tools" }, { id: 1 }))).text).toBe("published");
    await listener.hears(TOOLS);
    expect(listener.messages.filter((message) => "id" in message)).toEqual([]);
  });
});

describe("delivery across isolates and Durable Objects", () => {
  test("a notification that a handler publishes in the Worker reaches listeners of other requests", async () => {
    const listener = await open(EVERYTHING);
    await readAnswer(new ModernClient(lab.tap.url).call("publish", { subject: "test://a" }));
    await listener.hears("test://a");
    expect(listener.notifications).toEqual(["test://a"]);
  });

  test("a notification from one isolate reaches the listeners of the other isolate, both ways", async () => {
    const isolates = await Promise.all(["", "/twin"].map((path) => lab.text(`${path}/isolate`)));
    expect(new Set(isolates).size).toBe(2);
    const [here, there] = [await open(EVERYTHING), await open(EVERYTHING, "there", lab.twin.url)];
    await readAnswer(new ModernClient(lab.twin.url).call("publish", { subject: "test://a" }));
    await Promise.all([here, there].map((each) => each.hears("test://a")));
    await readAnswer(new ModernClient(lab.tap.url).call("publish", { subject: "test://b" }));
    await Promise.all([here, there].map((each) => each.hears("test://b")));
    await Promise.all([here, there].map(hasBeatenAgain));
    for (const { notifications } of [here, there]) expect(notifications).toEqual(["test://a", "test://b"]);
  });

  test.each(LEGACY_VERSIONS)(
    "a notification from a handler in the object of a %s session reaches both eras",
    async (version) => {
      const session = await LegacyClient.open(lab.tap.url, { version });
      const another = await LegacyClient.open(lab.tap.url);
      await readAnswer(another.request("resources/subscribe", { uri: "test://b" }));
      const [modern, legacy] = [await open(EVERYTHING), await Listener.ofSession(another)];
      lab.listeners.push(legacy);
      for (const subject of ["tools", "test://a", "test://b"]) {
        expect((await readAnswer(session.call("publish", { subject }))).text).toBe("published");
        await modern.hears(subject === "tools" ? TOOLS : subject);
      }
      await legacy.hears("test://b");
      expect(modern.notifications).toEqual([TOOLS, "test://a", "test://b"]);
      expect(legacy.notifications).toEqual([TOOLS, "test://b"]);
      // The legacy era has no subscription ids.
      expect(legacy.messages.map(subscriptionOf)).toEqual([undefined, undefined]);
    },
  );
});

describe("many listeners", () => {
  test("thirty streams all get one notification, each once and with its own id", async () => {
    const ids = Array.from({ length: 30 }, (_, index) => index);
    const streams = await Promise.all(ids.map((id) => open({ toolsListChanged: true }, id)));
    await publish("tools");
    await Promise.all(streams.map((stream) => stream.hears(TOOLS)));
    await Promise.all(streams.map(hasBeatenAgain));
    expect(streams.map(({ notifications }) => notifications)).toEqual(ids.map(() => [TOOLS]));
    expect(streams.map(({ messages }) => messages.map(subscriptionOf))).toEqual(ids.map((id) => [id, id]));
  });

  test("during a burst every subscribed subject is notified, and no other", async () => {
    const uris = Array.from({ length: 20 }, (_, index) => `test://many/burst-${index}`);
    const wanted = uris.filter((_, index) => index % 2 === 0);
    const stream = await open({ resourceSubscriptions: wanted });
    await Promise.all(uris.flatMap((uri) => [publish(uri), publish(uri)]));
    await Promise.all(wanted.map((uri) => stream.hears(uri)));
    await hasBeatenAgain(stream);
    expect(new Set(stream.notifications)).toEqual(new Set(wanted));
  });
});

test("without a hub no notifications are announced, and subscriptions/listen is an unknown method", async () => {
  const capabilities = async (url: string) => resultOf(await modern(url, "server/discover")).capabilities;
  expect(await capabilities(lab.silent.url)).toEqual({ tools: {}, logging: {} });
  expect(await capabilities(lab.toolsOnly.url)).toMatchObject({ tools: { listChanged: true } });
  const refused = await modern(lab.silent.url, "subscriptions/listen", { notifications: { toolsListChanged: true } });
  expect([refused.status, errorOf(refused).code]).toEqual([404, -32601]);
});

test("a listen stream survives the loss of the hub: its filter also applies to gap notifications, and later notifications arrive", async () => {
  const listener = await open({ toolsListChanged: true, resourceSubscriptions: ["test://a"] }, "survivor");
  await publish("tools");
  await listener.hears(TOOLS);
  await deed("forget");
  // After a gap every subscribed subject is notified once, since a notification may have been missed.
  await Promise.all([listener.hears(TOOLS, 2), listener.hears("test://a")]);
  await publish("prompts");
  await publish("test://b");
  await publish("test://a");
  await listener.hears("test://a", 2);
  expect(new Set(listener.notifications)).toEqual(new Set([TOOLS, "test://a"]));
  expect(new Set(listener.messages.map(subscriptionOf))).toEqual(new Set(["survivor"]));
  expect(listener.reading.isOver).toBe(false);
});
