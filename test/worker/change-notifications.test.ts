// @module-tag long
/**
 * Notifications on Workers: from one isolate to the GET streams of sessions and the listen streams of modern clients.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { LEGACY_VERSIONS, type Members } from "../http/messages.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { LegacyClient, ModernClient, Reading, readAnswer } from "./client.ts";

expectLogs(/^mcp-edge: "tools\/call" "ask" failed .* QuestionError: /);

let worker: Workerd;
let tap: HttpTap;
/** The endpoint in JSON mode. */
let jsonTap: HttpTap;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/changing.ts",
    objects: ["McpObject", "JsonObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
  tap = await startHttpTap(`${worker.origin}/mcp`);
  jsonTap = await startHttpTap(`${worker.origin}/json`, { oracle: tap.oracle });
});
afterAll(async () => {
  await tap?.close();
  await jsonTap?.close();
  await worker?.stop();
  tap?.oracle.expectClean();
});

const methodsOf = (reading: Reading) => reading.messages.map(({ method }) => method);
const urisOf = (reading: Reading) =>
  reading.messages
    .filter(({ method }) => method === "notifications/resources/updated")
    .map(({ params }) => (params as Members).uri);
const publish = (what: string) => fetch(`${worker.origin}/publish/${encodeURIComponent(what)}`, { method: "POST" });
const heard = async () => (await fetch(`${worker.origin}/heard`)).json() as Promise<string[]>;

/** Publishes an update until it arrives on the stream; everything sent before has arrived by then. */
async function flush(reading: Reading, marker: string): Promise<void> {
  await publish(marker);
  await reading.has(`the update of ${marker}`, () => urisOf(reading).includes(marker));
}

async function listen(notifications: Members, id: string | number = 7, leave = new AbortController()) {
  const client = new ModernClient(tap.url);
  const response = await client.request("subscriptions/listen", { notifications }, { id, signal: leave.signal });
  const reading = new Reading(response);
  await reading.has("the acknowledgement", ({ messages }) => messages.length > 0);
  return { reading, leave };
}

describe.each(LEGACY_VERSIONS)("the GET stream of a session of %s", (version) => {
  test("is notified of changed lists from another isolate, and the session declares it", async () => {
    const client = await LegacyClient.open(tap.url, { version });
    expect(client.greeting.capabilities).toMatchObject({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    });
    const reading = new Reading(await client.get());
    await publish("tools");
    await reading.has("a notification", (each) => methodsOf(each).includes("notifications/tools/list_changed"));
  });

  test("gets only updates of subscribed resources, each once, and none after unsubscribing", async () => {
    const client = await LegacyClient.open(tap.url, { version });
    const reading = new Reading(await client.get());
    const request = async (method: string, uri: string) =>
      (await readAnswer(client.request(method, { uri }))).messages[0];
    expect(await request("resources/subscribe", "test://a")).toMatchObject({ result: {} });
    expect(await request("resources/subscribe", "test://a")).toMatchObject({ result: {} });
    await publish("test://b");
    await flush(reading, "test://a");
    expect(await request("resources/subscribe", "test://b")).toMatchObject({ result: {} });
    expect(await request("resources/unsubscribe", "test://a")).toMatchObject({ result: {} });
    await publish("test://a");
    await flush(reading, "test://b");
    expect(urisOf(reading)).toEqual(["test://a", "test://b"]);
    expect(await request("resources/unsubscribe", "test://never")).toMatchObject({ result: {} });
    expect(await request("resources/subscribe", "test://nothing")).toMatchObject({ error: { code: -32002 } });
    expect(await request("resources/subscribe", "test://refused")).toMatchObject({ error: { code: 4403 } });
  });

  test("carries messages of server.log() according to its own level", async () => {
    const client = await LegacyClient.open(tap.url, { version });
    const reading = new Reading(await client.get());
    await readAnswer(client.call("say", { name: "unasked" }));
    await readAnswer(client.request("logging/setLevel", { level: "error" }));
    await readAnswer(client.call("say", { name: "not severe enough" }));
    await readAnswer(client.request("logging/setLevel", { level: "warning" }));
    await readAnswer(client.call("say", { name: "severe enough" }));
    await reading.has("a log message", (each) => methodsOf(each).includes("notifications/message"));
    expect(reading.messages).toMatchObject([
      { params: { level: "warning", logger: "changing", data: "severe enough" } },
    ]);
  });
});

describe("the GET stream of a session", () => {
  test("begins with an event that has an id and no data, for 2025-11-25 only", async () => {
    const newest = new Reading(await (await LegacyClient.open(tap.url)).get());
    await newest.has("the priming event", ({ raw }) => /^id: \S{1,64}\ndata:\n\n/.test(raw));
    const older = new Reading(await (await LegacyClient.open(tap.url, { version: "2025-06-18" })).get());
    await older.has("a heartbeat", ({ comments }) => comments.length > 0);
    expect(older.ids).toEqual([]);
  });

  test("ends with DELETE, and the session's subscriptions are released", async () => {
    const client = await LegacyClient.open(tap.url);
    const reading = new Reading(await client.get());
    await readAnswer(client.request("resources/subscribe", { uri: "test://a" }));
    const before = await heard();
    expect((await client.delete()).status).toBe(204);
    await reading.has("the end", ({ isOver }) => isOver);
    await expect.poll(async () => (await heard()).slice(before.length)).toContain("-test://a");
    expect((await client.get()).status).toBe(404);
  });

  test("continues after the process died, with the same subscriptions and level", async () => {
    const own = await Workerd.start({
      entry: "test/worker/fixtures/changing.ts",
      objects: ["McpObject", "JsonObject"],
      bindings: { MCP_KEYS: newKeys() },
    });
    const client = await LegacyClient.open(`${own.origin}/mcp`);
    await readAnswer(client.request("resources/subscribe", { uri: "test://a" }));
    await readAnswer(client.request("logging/setLevel", { level: "info" }));
    await own.killAndRestart();
    const again = client.at(`${own.origin}/mcp`);
    const reading = new Reading(await again.get());
    await readAnswer(again.call("touch", { name: "test://a" }));
    await readAnswer(again.call("say", { name: "after" }));
    await reading.has("both", (each) => each.messages.length === 2);
    expect(methodsOf(reading)).toEqual(["notifications/resources/updated", "notifications/message"]);
    await own.stop();
  });

  test("carries a request for roots that changed, from the session that reported the change", async () => {
    const capabilities = { roots: { listChanged: true } };
    const [client, other] = [
      await LegacyClient.open(tap.url, { capabilities }),
      await LegacyClient.open(tap.url, { capabilities }),
    ];
    const [reading, silent] = [new Reading(await client.get()), new Reading(await other.get())];
    await client.notify("notifications/roots/list_changed");
    await reading.has("a question", ({ messages }) => messages.some(({ method }) => method === "roots/list"));
    const id = reading.messages[0]?.id;
    const result = { roots: [{ uri: "file:///changed", name: "changed" }] };
    expect((await client.send({ jsonrpc: "2.0", id, result })).status).toBe(202);
    await expect.poll(heard).toContain("roots file:///changed");
    expect(silent.messages).toEqual([]);
  });
});

describe("subscriptions/listen", () => {
  test("acknowledges the granted subscriptions, tags messages with the request's id, and carries nothing else", async () => {
    const { reading } = await listen(
      { toolsListChanged: true, resourceSubscriptions: ["test://a", "test://refused"] },
      "seven",
    );
    const _meta = { "io.modelcontextprotocol/subscriptionId": "seven" };
    expect(reading.messages[0]).toEqual({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { _meta, notifications: { toolsListChanged: true, resourceSubscriptions: ["test://a"] } },
    });
    const updates = await listen({ resourceSubscriptions: ["test://b"] });
    await publish("tools");
    await flush(updates.reading, "test://b");
    await flush(reading, "test://a");
    expect(reading.messages.slice(1)).toEqual([
      { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta } },
      { jsonrpc: "2.0", method: "notifications/resources/updated", params: { _meta, uri: "test://a" } },
    ]);
    expect(updates.reading.messages).toHaveLength(2);
  });

  test("runs the hooks when it opens and when its client disconnects", async () => {
    const before = (await heard()).length;
    const { leave } = await listen({ resourceSubscriptions: ["test://b"] });
    expect((await heard()).slice(before)).toEqual(["+test://b"]);
    leave.abort();
    await expect.poll(async () => (await heard()).slice(before)).toEqual(["+test://b", "-test://b"]);
  });

  test("carries a change that was made in the object of a legacy session", async () => {
    const { reading } = await listen({ toolsListChanged: true });
    const client = await LegacyClient.open(tap.url);
    await readAnswer(client.call("add_tool", { name: `made-by-${client.sessionId?.slice(-8)}` }));
    await reading.has("the notification", ({ messages }) => messages.length > 1);
  });
});

describe("JSON mode", () => {
  const url = () => jsonTap.url;

  test("returns one JSON object for every POST, without progress, and modern clients can still be asked", async () => {
    for (const client of [await LegacyClient.open(url()), new ModernClient(url())]) {
      const answer = await readAnswer(client.call("progress", {}, { progressToken: 1 }));
      expect(answer).toMatchObject({ contentType: "application/json", text: "done" });
      expect(answer.messages).toHaveLength(1);
    }
    const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
    const asked = await readAnswer(new ModernClient(url()).call("ask_by_returning", {}, { meta }));
    expect(asked.messages).toMatchObject([{ result: { resultType: "input_required", inputRequests: { go: {} } } }]);
  });

  test("refuses a question to a legacy client naming the mode, and still sends notifications on the GET stream", async () => {
    const client = await LegacyClient.open(url(), { capabilities: { elicitation: {} } });
    const reading = new Reading(await client.get());
    const asked = await readAnswer(client.call("ask"));
    expect(asked.messages).toMatchObject([{ result: { isError: true } }]);
    await readAnswer(client.request("resources/subscribe", { uri: "test://a" }));
    await flush(reading, "test://a");
  });

  test("has no listen stream and declares none", async () => {
    const client = new ModernClient(url());
    const discovered = await readAnswer(client.request("server/discover"));
    expect(discovered.messages).toMatchObject([{ result: { capabilities: { tools: {} } } }]);
    const [{ result }] = discovered.messages as [{ result: { capabilities: Members } }];
    expect(result.capabilities).toEqual({ tools: {}, prompts: {}, resources: {}, logging: {} });
    const listened = await readAnswer(client.request("subscriptions/listen", { notifications: {} }));
    expect(listened).toMatchObject({ status: 404, messages: [{ error: { code: -32601 } }] });
  });

  test("refuses a client that accepts only streams", async () => {
    const refused = await new ModernClient(url()).call("progress", {}, { headers: { accept: "text/event-stream" } });
    expect(refused.status).toBe(406);
  });
});
