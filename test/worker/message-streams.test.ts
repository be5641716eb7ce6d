// @module-tag long
/** Which messages are sent on which stream: the stream of a call, the GET stream of a session, and listen streams. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Workerd } from "../harness/workerd.ts";
import { LEGACY_VERSIONS, type Members } from "../http/messages.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { type CallOptions, clientOf, LegacyClient, ModernClient, Reading, readAnswer, VERSIONS } from "./client.ts";
import { startDeployments } from "./deployments.ts";

let worker: Workerd;
let tap: HttpTap;

beforeAll(async () => {
  worker = await startDeployments();
});
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/shop`);
});
afterEach(async () => {
  await tap.close();
  tap.oracle.expectClean();
});
afterAll(() => worker?.stop());

const post = (path: string) => fetch(`${worker.origin}${path}`, { method: "POST" });
const COMPLETE = "notifications/elicitation/complete";
const UPDATED = "notifications/resources/updated";
const MARKER = "notifications/tools/list_changed";
const able = { elicitation: { form: {}, url: {} } };

const methodsOf = ({ messages }: Reading) => messages.map(({ method }) => method);
/** The values of one member of the params of all messages of a method, in order. */
const said = ({ messages }: Reading, method: string, member: string) =>
  messages.filter((each) => each.method === method).map(({ params }) => (params as Members)[member]);

/** Publishes a change of the tools until every stream is notified; everything sent before has arrived by then. */
async function mark(...readings: Reading[]): Promise<void> {
  await post("/publish/tools");
  for (const reading of readings) await reading.has("the marker", (each) => methodsOf(each).includes(MARKER));
}

let keys = 0;

function newKey(): string {
  keys += 1;
  return `key${keys}`;
}

/** A session of 2025-11-25 with its GET stream whose client was asked to visit a URL and agreed. */
async function visitor(id: string) {
  const client = await LegacyClient.open(tap.url, { capabilities: able });
  const stream = new Reading(await client.get());
  const call = new Reading(await client.call("pay", { key: id }));
  await call.has("the question", ({ messages }) => messages.length > 0);
  const [question] = call.messages;
  expect(question).toMatchObject({ method: "elicitation/create", params: { mode: "url", elicitationId: id } });
  const answer = { jsonrpc: "2.0", id: question?.id, result: { action: "accept" } };
  expect((await client.send(answer)).status).toBe(202);
  await call.has("the result", ({ isOver }) => isOver);
  return { client, stream, call };
}

describe("the completion of a URL elicitation that another route reports", () => {
  test.each(["", "/twin"])("reaches only the session that asked (through %j)", async (way) => {
    const [one, two] = [newKey(), newKey()];
    const [asker, other] = [await visitor(one), await visitor(two)];
    const never = new Reading(await (await LegacyClient.open(tap.url, { capabilities: able })).get());
    await post(`${way}/callback/${one}`);
    await asker.stream.has("the end", (each) => methodsOf(each).includes(COMPLETE));
    await mark(asker.stream, other.stream, never);
    expect(asker.stream.messages[0]).toEqual({ jsonrpc: "2.0", method: COMPLETE, params: { elicitationId: one } });
    expect(said(asker.stream, COMPLETE, "elicitationId")).toEqual([one]);
    expect([other.stream, never].map((each) => said(each, COMPLETE, "elicitationId"))).toEqual([[], []]);
    expect(methodsOf(asker.call)).toEqual(["elicitation/create", undefined]);
    await post(`${way}/callback/${two}`);
    await other.stream.has("the other end", (each) => methodsOf(each).includes(COMPLETE));
    expect(said(other.stream, COMPLETE, "elicitationId")).toEqual([two]);
  });

  test("is received while the question is still open, and for each of several questions", async () => {
    const client = await LegacyClient.open(tap.url, { capabilities: able });
    const stream = new Reading(await client.get());
    const ids = [newKey(), newKey()];
    const calls: Reading[] = [];
    for (const key of ids) calls.push(new Reading(await client.call("pay", { key })));
    for (const call of calls) await call.has("the question", ({ messages }) => messages.length > 0);
    for (const id of ids) {
      // Announcing it twice notifies twice; only the arrival matters here.
      await expect
        .poll(async () => {
          await post(`/callback/${id}`);
          return said(stream, COMPLETE, "elicitationId");
        })
        .toContain(id);
    }
    for (const call of calls) {
      await client.send({ jsonrpc: "2.0", id: call.messages[0]?.id, result: { action: "decline" } });
      await call.has("the result", ({ isOver }) => isOver);
    }
  });

  test.each(LEGACY_VERSIONS.filter((version) => version !== "2025-11-25"))("is not sent to %s", async (version) => {
    const { stream: asker } = await visitor(newKey());
    const client = await LegacyClient.open(tap.url, { version, capabilities: {} });
    const stream = new Reading(await client.get());
    // A version without URL mode is not asked, so there is nothing to complete.
    const key = newKey();
    expect((await readAnswer(client.call("pay", { key }))).messages).toMatchObject([{ result: { isError: true } }]);
    await post(`/callback/${key}`);
    await mark(stream, asker);
    expect(methodsOf(stream)).not.toContain(COMPLETE);
    expect(methodsOf(asker)).not.toContain(COMPLETE);
  });
});

describe.each(VERSIONS)("progress and logs of %s", (version) => {
  test("go to the stream of their own request, even if ids and tokens are equal", async () => {
    const bystander = await LegacyClient.open(tap.url);
    await readAnswer(bystander.request("logging/setLevel", { level: "debug" }));
    const streams = [new Reading(await bystander.get())];
    const key = newKey();
    const working = [1, 2].map(async (which) => {
      const client = await clientOf(version, tap.url);
      if (client instanceof LegacyClient) {
        await readAnswer(client.request("logging/setLevel", { level: "info" }));
        streams.push(new Reading(await client.get()));
      }
      const meta = { "io.modelcontextprotocol/logLevel": "info" };
      const how: CallOptions = { id: "same", progressToken: "same", meta };
      return readAnswer(client.call("work", { key: `${key}-${which}` }, how));
    });
    const answers = await Promise.all(working);
    answers.forEach((answer, index) => {
      const mine = `${key}-${index + 1}`;
      const message = version === "2024-11-05" ? {} : { message: mine };
      const progress = (value: number) => ({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: "same", progress: value, ...message },
      });
      const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "warning", data: mine } };
      expect(answer.messages.slice(0, -1)).toEqual([progress(1), log, progress(2), log]);
      expect(answer.messages.at(-1)).toMatchObject({ id: "same", result: { content: [{ text: mine }] } });
    });
    await mark(...streams);
    expect(streams.map((each) => methodsOf(each).filter((method) => method !== MARKER))).toEqual(streams.map(() => []));
  });

  test("go to separate streams in two calls of one client", async () => {
    const client = await clientOf(version, tap.url);
    const key = newKey();
    const calls = ["1", "2"].map((which) =>
      readAnswer(client.call("work", { key: `${key}-${which}` }, { id: which, progressToken: `token ${which}` })),
    );
    for (const [index, { messages }] of (await Promise.all(calls)).entries()) {
      const tokens = messages.slice(0, -1).map(({ params }) => (params as Members).progressToken);
      expect(tokens).toEqual([`token ${index + 1}`, `token ${index + 1}`]);
      expect(messages.at(-1)).toMatchObject({ id: String(index + 1) });
    }
  });
});

describe.each(LEGACY_VERSIONS)("updates of a resource (%s)", (version) => {
  test("reach only its subscribers, in both eras", async () => {
    const subscriber = await LegacyClient.open(tap.url, { version });
    const other = await LegacyClient.open(tap.url, { version });
    const silent = await LegacyClient.open(tap.url, { version });
    const [mine, theirs, none] = [
      new Reading(await subscriber.get()),
      new Reading(await other.get()),
      new Reading(await silent.get()),
    ];
    await readAnswer(subscriber.request("resources/subscribe", { uri: "shop://a" }));
    await readAnswer(other.request("resources/subscribe", { uri: "shop://b" }));
    const leave = new AbortController();
    const listening = (notifications: Members) =>
      new ModernClient(tap.url).request("subscriptions/listen", { notifications }, { signal: leave.signal });
    const listener = new Reading(await listening({ resourceSubscriptions: ["shop://a"], toolsListChanged: true }));
    const deaf = new Reading(await listening({ toolsListChanged: true }));
    for (const each of [listener, deaf]) await each.has("the acknowledgement", ({ messages }) => messages.length > 0);
    await post("/publish/shop%3A%2F%2Fa");
    for (const each of [mine, listener]) await each.has("the update", (one) => methodsOf(one).includes(UPDATED));
    await post("/publish/shop%3A%2F%2Fb");
    await theirs.has("the other update", (one) => methodsOf(one).includes(UPDATED));
    await mark(mine, theirs, none, listener, deaf);
    const uris = [mine, listener, theirs, none, deaf].map((each) => said(each, UPDATED, "uri"));
    expect(uris).toEqual([["shop://a"], ["shop://a"], ["shop://b"], [], []]);
    leave.abort();
  });
});
