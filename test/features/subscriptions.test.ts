import { afterEach, describe, expect, test } from "vitest";
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  McpError,
  McpServer,
} from "../../src/core/index.ts";
import { ChangeBus } from "../../src/core/protocol/change-notifications.ts";
import { closePeers, LEGACY_VERSIONS, MODERN_VERSION, openPeer } from "./peer.ts";

afterEach(closePeers);

const ID = "io.modelcontextprotocol/subscriptionId";

function createServer(): McpServer {
  const server = new McpServer({ name: "changing", version: "1.0.0" });
  server.tool("first", {}, () => "first");
  server.resource("test://watched", { mimeType: "text/plain" }, () => "content");
  server.prompt("hello", {}, () => "Hello");
  return server;
}

const methodsOf = (notifications: readonly { method: string }[]) => notifications.map(({ method }) => method);

describe.each(LEGACY_VERSIONS)("definitions that change in %s over a connection", (version) => {
  test("take effect and are notified once each when a tool is added, replaced or removed", async () => {
    const server = createServer();
    const peer = await openPeer(server, version);
    server.tool("second", {}, () => "second");
    server.tool("third", {}, () => "third");
    await expect.poll(() => methodsOf(peer.notifications)).toEqual(["notifications/tools/list_changed"]);
    server.replace(defineTool("first", { description: "changed" }, () => "changed"));
    expect(await peer.request("tools/call", { name: "first" })).toMatchObject({
      result: { content: [{ text: "changed" }] },
    });
    expect(server.remove("tool", "second")).toBe(true);
    expect(server.remove("tool", "second")).toBe(false);
    const listed = await peer.request("tools/list");
    expect(listed).toMatchObject({ result: { tools: [{ name: "first", description: "changed" }, { name: "third" }] } });
    expect(await peer.request("tools/call", { name: "second" })).toMatchObject({ error: { code: -32602 } });
    peer.oracle.expectClean();
  });

  test.each([
    ["a prompt", definePrompt("hello", {}, () => "Hello again"), "prompts"],
    ["a resource", defineResource("test://watched", {}, () => "changed"), "resources"],
    ["a resource template", defineResourceTemplate("test://items/{id}", {}, () => "item"), "resources"],
  ] as const)("are notified when %s is replaced or added", async (_, definition, list) => {
    const server = createServer();
    if (definition.kind === "resourceTemplate") server.add(definition);
    const peer = await openPeer(server, version);
    const method = `notifications/${list}/list_changed`;
    server.replace(definition as never);
    await expect.poll(() => methodsOf(peer.notifications)).toEqual([method]);
    const key = definition.kind === "prompt" ? definition.name : undefined;
    const uri = definition.kind === "resourceTemplate" ? definition.uriTemplate : "test://watched";
    expect(server.remove(definition.kind, key ?? uri)).toBe(true);
    await expect.poll(() => methodsOf(peer.notifications)).toEqual([method, method]);
    server.add(definition as never);
    await expect.poll(() => methodsOf(peer.notifications)).toEqual([method, method, method]);
    peer.oracle.expectClean();
  });

  test("leave an empty list when the last tool is removed, and calls report an unknown name", async () => {
    const server = createServer();
    const peer = await openPeer(server, version);
    server.remove("tool", "first");
    server.remove("prompt", "hello");
    server.remove("resource", "test://watched");
    server.resourceTemplate("family://{name}", {}, () => "text");
    expect(server.remove("resourceTemplate", "family://{name}")).toBe(true);
    expect(await peer.request("resources/templates/list")).toMatchObject({ result: { resourceTemplates: [] } });
    expect(await peer.request("tools/list")).toMatchObject({ result: { tools: [] } });
    expect(await peer.request("prompts/list")).toMatchObject({ result: { prompts: [] } });
    expect(await peer.request("resources/list")).toMatchObject({ result: { resources: [] } });
    const unknown = { error: { code: -32602, message: 'Unknown tool: "first"' } };
    expect(await peer.request("tools/call", { name: "first" })).toMatchObject(unknown);
    expect(await peer.request("prompts/get", { name: "hello" })).toMatchObject({ error: { code: -32602 } });
    const later = await openPeer(server, version);
    expect(later.initialized).toMatchObject({ result: { capabilities: { tools: {}, prompts: {}, resources: {} } } });
    peer.oracle.expectClean();
  });

  test("do not affect a running call, which finishes with the definition it started with", async () => {
    const server = createServer();
    let release: (text: string) => void = () => undefined;
    server.tool(
      "slow",
      {},
      () =>
        new Promise<string>((resolve) => {
          release = resolve;
        }),
    );
    const peer = await openPeer(server, version);
    const running = peer.request("tools/call", { name: "slow" });
    await peer.request("tools/list");
    server.remove("tool", "slow");
    release("the old one");
    expect(await running).toMatchObject({ result: { content: [{ text: "the old one" }] } });
    peer.oracle.expectClean();
  });

  test("include updates, which reach the client that subscribed to the resource until it unsubscribes", async () => {
    const server = createServer();
    const [subscribed, other] = [await openPeer(server, version), await openPeer(server, version)];
    expect(await subscribed.request("resources/subscribe", { uri: "test://watched" })).toMatchObject({ result: {} });
    server.resourceUpdated("test://watched");
    server.resourceUpdated("test://another");
    await expect
      .poll(() => subscribed.notifications)
      .toMatchObject([{ method: "notifications/resources/updated", params: { uri: "test://watched" } }]);
    expect(await subscribed.request("resources/unsubscribe", { uri: "test://watched" })).toMatchObject({ result: {} });
    expect(await subscribed.request("resources/unsubscribe", { uri: "test://never" })).toMatchObject({ result: {} });
    server.resourceUpdated("test://watched");
    server.promptsChanged();
    // The later notification has arrived, so the update would have arrived too.
    await expect.poll(() => methodsOf(other.notifications)).toEqual(["notifications/prompts/list_changed"]);
    expect(methodsOf(subscribed.notifications)).toEqual([
      "notifications/resources/updated",
      "notifications/prompts/list_changed",
    ]);
    subscribed.oracle.expectClean();
  });

  test("fail with the URI in the error if the resource of a subscription does not exist", async () => {
    const peer = await openPeer(createServer(), version);
    const refused = await peer.request("resources/subscribe", { uri: "test://absent" });
    expect(refused).toMatchObject({ error: { code: -32002, data: { uri: "test://absent" } } });
    peer.oracle.expectClean();
  });

  test("are declared with listChanged and subscribe if notifications can be delivered", async () => {
    const peer = await openPeer(createServer(), version);
    expect(peer.initialized).toMatchObject({
      result: { capabilities: { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } } },
    });
  });
});

describe("subscriptions/listen over a connection", () => {
  test("acknowledges the subscriptions that it grants, tags every notification with the request's id, and sends no other message", async () => {
    const server = createServer();
    const peer = await openPeer(server, MODERN_VERSION);
    const notifications = { toolsListChanged: true, resourceSubscriptions: ["test://watched"] };
    const listening = peer.request("subscriptions/listen", { notifications }, undefined, { id: 0 });
    await expect.poll(() => peer.notifications.length).toBe(1);
    server.tool("second", {}, () => "second");
    server.promptsChanged();
    server.resourceUpdated("test://watched");
    server.resourceUpdated("test://another");
    await expect.poll(() => peer.notifications.length).toBe(3);
    expect(peer.notifications).toMatchObject([
      { method: "notifications/subscriptions/acknowledged", params: { _meta: { [ID]: 0 }, notifications } },
      { method: "notifications/tools/list_changed", params: { _meta: { [ID]: 0 } } },
      { method: "notifications/resources/updated", params: { _meta: { [ID]: 0 }, uri: "test://watched" } },
    ]);
    // When it ends gracefully, the response to the request has the id of the subscription.
    await peer.connection.idle();
    expect(await listening).toMatchObject({ id: 0, result: { resultType: "complete", _meta: { [ID]: 0 } } });
    peer.oracle.expectClean();
  });

  test("distinguishes two concurrent subscriptions by their ids, and sends no notification to a cancelled one", async () => {
    const server = createServer();
    const peer = await openPeer(server, MODERN_VERSION);
    const notifications = { toolsListChanged: true };
    for (const id of ["a", "b"])
      peer.request("subscriptions/listen", { notifications }, undefined, { id }).catch(() => undefined);
    await expect.poll(() => peer.notifications.length).toBe(2);
    peer.notify("notifications/cancelled", { requestId: "a" });
    await peer.request("tools/list");
    server.toolsChanged();
    await expect.poll(() => peer.notifications.length).toBe(3);
    expect(peer.notifications.at(-1)).toMatchObject({ params: { _meta: { [ID]: "b" } } });
    await peer.close();
  });

  test("omits kinds that the server does not have from the acknowledgement, and refuses an invalid filter", async () => {
    const server = new McpServer({ name: "tools only", version: "1.0.0" });
    server.tool("only", {}, () => "");
    const peer = await openPeer(server, MODERN_VERSION);
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["test://x"] };
    peer.request("subscriptions/listen", { notifications }).catch(() => undefined);
    await expect
      .poll(() => peer.notifications)
      .toMatchObject([{ params: { notifications: { toolsListChanged: true } } }]);
    expect(peer.notifications[0]?.params?.notifications).toEqual({ toolsListChanged: true });
    const refused = await peer.request(
      "subscriptions/listen",
      { notifications: { resourceSubscriptions: "test://x" } },
      undefined,
      { bad: true },
    );
    expect(refused).toMatchObject({ error: { code: -32602 } });
    await peer.close();
  });

  test("omits resources that do not exist or are hidden, and calls no hook for them", async () => {
    const asked: string[] = [];
    const server = new McpServer({
      name: "hiding",
      version: "1.0.0",
      visible: (definition) => definition.kind !== "resource" || definition.uri !== "test://hidden",
      onSubscribe: (uri) => void asked.push(uri),
    });
    server.resource("test://hidden", {}, () => "").resource("test://shown", {}, () => "");
    const peer = await openPeer(server, MODERN_VERSION);
    const resourceSubscriptions = ["test://hidden", "test://shown", "test://invented"];
    peer.request("subscriptions/listen", { notifications: { resourceSubscriptions } }).catch(() => undefined);
    await expect.poll(() => peer.notifications.length).toBe(1);
    expect(peer.notifications[0]?.params?.notifications).toEqual({ resourceSubscriptions: ["test://shown"] });
    expect(asked).toEqual(["test://shown"]);
    await peer.close();
  });

  test("treats all spellings of a resource as one subscription, and passes the spelling of its definition to hooks", async () => {
    const asked: string[] = [];
    const heard = new McpServer({ name: "heard", version: "1.0.0", onSubscribe: (uri) => void asked.push(uri) });
    heard.resource("test://watched", {}, () => "");
    const peer = await openPeer(heard, MODERN_VERSION);
    const resourceSubscriptions = ["test://w%61tched", "TEST://watched", "test://watched"];
    peer.request("subscriptions/listen", { notifications: { resourceSubscriptions } }).catch(() => undefined);
    await expect.poll(() => peer.notifications.length).toBe(1);
    expect(peer.notifications[0]?.params?.notifications).toEqual({ resourceSubscriptions: ["test://watched"] });
    expect(asked).toEqual(["test://watched"]);
    heard.resourceUpdated("test://watche%64");
    await expect.poll(() => peer.notifications.length).toBe(2);
    await peer.close();
  });

  test("does not exceed the limit of concurrent subscriptions while a hook decides about them", async () => {
    const watched = new Set<string>();
    const server = new McpServer({
      name: "slow",
      version: "1.0.0",
      onSubscribe: async (uri) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        watched.add(uri);
      },
      onUnsubscribe: (uri) => void watched.delete(uri),
    });
    for (let number = 0; number < 6; number += 1) server.resource(`test://${number}`, {}, () => "");
    const peer = await openPeer(server, "2025-11-25", { limits: { subscriptionUrisMax: 2 } });
    const subscribe = (_: unknown, number: number) => peer.request("resources/subscribe", { uri: `test://${number}` });
    const answers = await Promise.all(Array.from({ length: 6 }, subscribe));
    expect(answers.filter((answer) => "result" in answer)).toHaveLength(2);
    expect(answers.filter((answer) => "error" in answer)).toMatchObject(Array(4).fill({ error: { code: -32602 } }));
    // Subscriptions beyond the limit are no longer watched.
    expect(watched.size).toBe(2);
    await peer.close();
  });

  test("limits the number of concurrent streams per connection", async () => {
    const peer = await openPeer(createServer(), MODERN_VERSION, { limits: { listensPerPrincipalMax: 2 } });
    const notifications = { toolsListChanged: true };
    const listen = (id: string) => peer.request("subscriptions/listen", { notifications }, undefined, { id });
    for (const id of ["a", "b"]) listen(id).catch(() => undefined);
    await expect.poll(() => peer.notifications.length).toBe(2);
    expect(await listen("c")).toMatchObject({ error: { code: -32600, data: { reason: "too-many" } } });
    peer.notify("notifications/cancelled", { requestId: "a" });
    listen("d").catch(() => undefined);
    await expect.poll(() => peer.notifications.length).toBe(3);
    await peer.close();
  });
});

test("a notification listener that fails does not affect the other listeners, and its failure is reported", async () => {
  const failures: unknown[] = [];
  const heard: unknown[] = [];
  const bus = new ChangeBus((error) => failures.push(error));
  const broken = new Error("the listener is broken");
  bus.subscribe(() => {
    throw broken;
  });
  bus.subscribe((notifications) => heard.push(...notifications));
  bus.publish({ kind: "tools" });
  await expect.poll(() => heard).toEqual([{ kind: "tools" }]);
  expect(failures).toEqual([broken]);
});

test("a resource that onSubscribe refuses is not acknowledged, and its updates are not sent", async () => {
  const onSubscribe = (uri: string) => {
    if (uri === "test://secret") throw new McpError(-32602, "not yours");
  };
  const server = new McpServer({ name: "careful", version: "1.0.0", onSubscribe });
  for (const uri of ["test://open", "test://secret"]) server.resource(uri, {}, () => "content");
  const peer = await openPeer(server, MODERN_VERSION);
  const notifications = { resourceSubscriptions: ["test://secret", "test://open"] };
  peer.request("subscriptions/listen", { notifications }).catch(() => undefined);
  await expect.poll(() => peer.notifications.length).toBe(1);
  expect(peer.notifications[0]?.params?.notifications).toEqual({ resourceSubscriptions: ["test://open"] });
  server.resourceUpdated("test://secret");
  server.resourceUpdated("test://open");
  await expect.poll(() => peer.notifications.slice(1)).toMatchObject([{ params: { uri: "test://open" } }]);
  await peer.close();
});

describe("an onSubscribe hook", () => {
  /** A server whose hook returns a value depending on the host of the URI; untyped, as in a program without types. */
  function deciding() {
    const answers: Readonly<Record<string, unknown>> = {
      nothing: undefined,
      true: true,
      false: false,
      later: Promise.resolve(false),
      null: null,
      zero: 0,
      text: "no",
      object: { allowed: false },
    };
    const released: string[] = [];
    const server = new McpServer({
      name: "deciding",
      version: "1.0.0",
      onSubscribe: (uri) => answers[new URL(uri).hostname] as boolean,
      onUnsubscribe: (uri) => void released.push(uri),
    });
    for (const name of Object.keys(answers)) server.resource(`test://${name}`, {}, () => "content");
    return { server, released, uris: Object.keys(answers).map((name) => `test://${name}`) };
  }
  const admitted = ["test://nothing", "test://true"];
  const refused = ["test://false", "test://later"];

  test.each(LEGACY_VERSIONS)("can return false, as if the resource did not exist (%s)", async (version) => {
    const { server, released, uris } = deciding();
    const peer = await openPeer(server, version);
    const absent = await peer.request("resources/subscribe", { uri: "test://absent" });
    if (!("error" in absent)) throw new Error("an unknown resource was subscribed to");
    for (const uri of uris) {
      const answer = await peer.request("resources/subscribe", { uri });
      if (admitted.includes(uri)) expect(answer).toMatchObject({ result: {} });
      else if (refused.includes(uri)) expect(answer).toMatchObject({ error: { ...absent.error, data: { uri } } });
      else expect(answer).toMatchObject({ error: { code: -32603 } });
    }
    expect(peer.reports).toMatchObject(
      ["null", "a value of type number", "a value of type string", "a value of type object"].map((what) => {
        return { code: "options-invalid", message: expect.stringContaining(`onSubscribe returned ${what}`) };
      }),
    );
    for (const uri of uris) server.resourceUpdated(uri);
    const heard = () => peer.notifications.map(({ params }) => params?.uri);
    await expect.poll(heard).toEqual(admitted);
    await peer.close();
    // A refused subscription has nothing to release.
    expect(released.sort()).toEqual(admitted);
  });

  test("omits a resource from a listen stream if it returns false or an invalid value", async () => {
    const { server, released, uris } = deciding();
    const peer = await openPeer(server, MODERN_VERSION);
    peer.request("subscriptions/listen", { notifications: { resourceSubscriptions: uris } }).catch(() => undefined);
    await expect.poll(() => peer.notifications.length).toBe(1);
    expect(peer.notifications[0]?.params?.notifications).toEqual({ resourceSubscriptions: admitted });
    expect(peer.reports).toMatchObject(Array(4).fill({ code: "options-invalid" }));
    await peer.close();
    await expect.poll(() => released.sort()).toEqual(admitted);
  });
});

test.each(LEGACY_VERSIONS)("in %s any spelling of a resource can be used to unsubscribe from it", async (version) => {
  const ran: string[] = [];
  const server = new McpServer({
    name: "spelled",
    version: "1.0.0",
    onSubscribe: (uri) => void ran.push(`on ${uri}`),
    onUnsubscribe: (uri) => void ran.push(`off ${uri}`),
  });
  server.resourceTemplate("test://{+path}", {}, () => "");
  const peer = await openPeer(server, version);
  for (const uri of ["test://a%40b", "test://a@b"]) await peer.request("resources/subscribe", { uri });
  await peer.request("resources/unsubscribe", { uri: "TEST://%61@b" });
  server.resourceUpdated("test://a@b");
  await peer.request("ping", {});
  expect([ran, peer.notifications]).toEqual([["on test://a@b", "off test://a@b"], []]);
});

test.each(LEGACY_VERSIONS)("in %s subscribing twice and unsubscribing twice runs each hook once", async (version) => {
  const calls: string[] = [];
  const server = new McpServer({
    name: "counted",
    version: "1.0.0",
    onSubscribe: (uri) => void calls.push(`on ${uri}`),
    onUnsubscribe: (uri) => void calls.push(`off ${uri}`),
  });
  server.resource("test://one", {}, () => "content");
  const peer = await openPeer(server, version);
  for (const method of ["subscribe", "subscribe", "unsubscribe", "unsubscribe"])
    await peer.request(`resources/${method}`, { uri: "test://one" });
  expect(calls).toEqual(["on test://one", "off test://one"]);
});

test("an onUnsubscribe that fails after its client has disconnected is reported", async () => {
  const broken = new Error("the registry is down");
  const onUnsubscribe = () => Promise.reject(broken);
  const server = new McpServer({ name: "counted", version: "1.0.0", onUnsubscribe });
  server.resource("test://one", {}, () => "content");
  const peer = await openPeer(server, "2025-11-25");
  await peer.request("resources/subscribe", { uri: "test://one" });
  await peer.close();
  await expect.poll(() => peer.reports).toEqual([broken]);
});
