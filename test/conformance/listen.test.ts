/** The messages of a listen stream. */
import { describe, expect, test } from "vitest";
import { DELIBERATELY_BAD } from "../oracle/http-tap.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import {
  ACKNOWLEDGED,
  EVERYTHING,
  hasBeatenAgain,
  listenLab,
  NOTICES,
  PROMPTS,
  RESOURCES,
  SUBSCRIPTION_ID,
  subscriptionOf,
  TOOLS,
  UPDATED,
} from "./listen-support.ts";

const lab = listenLab();
const { open, publish, publishAll } = lab;

describe("the acknowledgement", () => {
  test.each([
    ["tools", { toolsListChanged: true }, [TOOLS]],
    ["prompts", { promptsListChanged: true }, [PROMPTS]],
    ["resourcesListChanged", { resourcesListChanged: true }, [RESOURCES]],
    ["one resource", { resourceSubscriptions: ["test://b"] }, ["test://b"]],
    ["tools and a resource", { toolsListChanged: true, resourceSubscriptions: ["test://a"] }, [TOOLS, "test://a"]],
    ["everything", EVERYTHING, NOTICES],
  ])("is the intersection of the requested and the supported kinds: %s", async (_, filter, expected) => {
    const [asker, control] = [await open(filter), await open(EVERYTHING)];
    expect(asker.acknowledged).toEqual(filter);
    await publishAll(control);
    await hasBeatenAgain(asker);
    expect(asker.notifications).toEqual(expected);
  });

  test("omits kinds that the server does not have, and they are never sent", async () => {
    const control = await open(EVERYTHING);
    const asker = await open(EVERYTHING, "limited", lab.toolsOnly.url);
    expect(asker.acknowledged).toEqual({ toolsListChanged: true });
    // Both servers publish every notification, so all of them would arrive if they were not filtered.
    await publishAll(control);
    await publish("tools");
    await asker.hears(TOOLS, 2);
    expect(asker.notifications).toEqual([TOOLS, TOOLS]);
  });

  test("omits a resource that the server refuses, and its updates are never sent", async () => {
    const filter = { resourceSubscriptions: ["test://forbidden", "test://a"] };
    const asker = await open(filter);
    expect(asker.acknowledged).toEqual({ resourceSubscriptions: ["test://a"] });
    await publish("test://forbidden");
    await publish("test://a");
    await asker.hears("test://a");
    await hasBeatenAgain(asker);
    expect(asker.notifications).toEqual(["test://a"]);
  });
});

describe("unusual filters", () => {
  test.each([
    ["empty", {}],
    ["a list without URIs", { resourceSubscriptions: [] }],
    [
      "false in all members",
      { toolsListChanged: false, promptsListChanged: false, resourcesListChanged: false, resourceSubscriptions: [] },
    ],
  ])("a filter that is %s is acknowledged as empty, and has no notifications", async (_, filter) => {
    const [asker, control] = [await open(filter), await open(EVERYTHING)];
    const acknowledged = Object.values(asker.acknowledged as object).flat();
    expect(acknowledged.filter(Boolean)).toEqual([]);
    await publishAll(control);
    await hasBeatenAgain(asker);
    expect(asker.messages).toHaveLength(1);
    expect(asker.reading.isOver).toBe(false);
  });

  test("a filter with an unknown member is acknowledged without it, and the member has no effect", async () => {
    const asker = await open({ weatherChanged: true, logsChanged: ["1"], promptsListChanged: true });
    expect(asker.acknowledged).toEqual({ promptsListChanged: true });
    await publishAll(await open(EVERYTHING));
    await hasBeatenAgain(asker);
    expect(asker.notifications).toEqual([PROMPTS]);
  });

  test.each([
    ["absent", undefined],
    ["null", null],
    ["a list", []],
    ["a string", "toolsListChanged"],
    ["URIs as a text", { resourceSubscriptions: "test://a" }],
    ["URIs that are numbers", { resourceSubscriptions: [1] }],
  ])("a filter that is %s is rejected with -32602 and the id, without a stream", async (_, filter) => {
    const client = new ModernClient(lab.tap.url);
    const headers = { [DELIBERATELY_BAD]: "1" };
    const answer = await readAnswer(
      client.request("subscriptions/listen", { notifications: filter }, { id: "bad", headers }),
    );
    expect(answer.messages).toMatchObject([{ id: "bad", error: { code: -32602 } }]);
  });
});

describe("subscriptionId", () => {
  test.each([0, 1, -7, 9007199254740991, "0", "", "a b", "größe ☃"])("equals the request id %j", async (id) => {
    const listener = await open(EVERYTHING, id);
    await publishAll(listener);
    expect(listener.messages[0]).toEqual({
      jsonrpc: "2.0",
      method: ACKNOWLEDGED,
      params: { _meta: { [SUBSCRIPTION_ID]: id }, notifications: EVERYTHING },
    });
    expect(listener.messages.map(subscriptionOf)).toEqual(Array(6).fill(id));
  });
});

describe("a subscription to a resource", () => {
  test("gets an update with its URI, which reaches only its subscribers", async () => {
    const [a, b] = [
      await open({ resourceSubscriptions: ["test://a"] }),
      await open({ resourceSubscriptions: ["test://b"] }),
    ];
    await publish("test://a");
    await publish("test://b");
    await Promise.all([a.hears("test://a"), b.hears("test://b")]);
    await Promise.all([a, b].map(hasBeatenAgain));
    const update = (uri: string) => ({
      jsonrpc: "2.0",
      method: UPDATED,
      params: { _meta: { [SUBSCRIPTION_ID]: "listen" }, uri },
    });
    expect(a.messages.slice(1)).toEqual([update("test://a")]);
    expect(b.messages.slice(1)).toEqual([update("test://b")]);
  });

  test("matches an update by the whole URI in any equivalent spelling, but not by prefix or case", async () => {
    const asker = await open({ resourceSubscriptions: ["test://many/a"] });
    for (const uri of ["test://many/A", "test://many/", "test://many/ab", "test://many/a%2F"]) await publish(uri);
    // RFC 3986, section 6.2.2: the scheme in any case, and escapes of unreserved characters.
    const spellings = ["test://many/a", "test://many/%61", "TEST://many/a"];
    for (const uri of spellings) {
      await publish(uri);
      await asker.hears(uri);
    }
    await hasBeatenAgain(asker);
    expect(asker.notifications).toEqual(spellings);
  });

  test("gets only updates of its URIs even with a filter too large to be stored with a socket", async () => {
    const uris = Array.from({ length: 900 }, (_, index) => `test://many/${"x".repeat(40)}-${index}`);
    const asker = await open({ resourceSubscriptions: uris });
    expect(asker.acknowledged).toEqual({ resourceSubscriptions: uris });
    await publish("test://a");
    await publish("tools");
    await publish(uris[899] ?? "");
    await asker.hears(uris[899] ?? "");
    await hasBeatenAgain(asker);
    expect(asker.notifications).toEqual([uris[899]]);
  });

  test("gets one notification for a URI that is requested twice", async () => {
    const asker = await open({ resourceSubscriptions: ["test://a", "test://a"] });
    await publish("test://a");
    await asker.hears("test://a");
    await hasBeatenAgain(asker);
    expect(asker.notifications).toEqual(["test://a"]);
  });
});

describe("each of several concurrent streams", () => {
  test("has its own id and its own kinds", async () => {
    const filters = [{ toolsListChanged: true }, { promptsListChanged: true }, { resourceSubscriptions: ["test://a"] }];
    const streams = await Promise.all(filters.map((filter, index) => open(filter, index)));
    const control = await open(EVERYTHING);
    await publishAll(control);
    await Promise.all(streams.map(hasBeatenAgain));
    expect(streams.map(({ notifications }) => notifications)).toEqual([[TOOLS], [PROMPTS], ["test://a"]]);
    expect(streams.map(({ messages }) => messages.map(subscriptionOf))).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });

  test("gets notifications even if two clients use the same id, and the end of one does not affect the other", async () => {
    const [left, right] = [await open({ toolsListChanged: true }, 1), await open(EVERYTHING, 1)];
    await publish("tools");
    await Promise.all([left.hears(TOOLS), right.hears(TOOLS)]);
    left.leave();
    await publish("prompts");
    await right.hears(PROMPTS);
    expect(right.notifications).toEqual([TOOLS, PROMPTS]);
    expect(left.notifications).toEqual([TOOLS]);
  });
});
