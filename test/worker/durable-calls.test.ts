/** Questions of legacy sessions that survive the loss of the object that asked them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { type Cuttable, progressOf, Session, WRONG } from "../conformance/support.ts";
import { type Members, notification } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { answer, asked, questionsOf } from "./questions.ts";
import { useTaps } from "./taps.ts";

let worker: TestWorker;
const tapped = useTaps();

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/durable-calls.ts",
    objects: { MCP: "McpObject", HASTY: "HastyObject", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const at = (path: string) => tapped(worker.origin + path);

const able = { elicitation: {}, roots: {} };
const open = async (path = "/mcp") => Session.open(await at(path), { capabilities: able });
const effectsOf = async (key: string) => (await fetch(`${worker.origin}/effects/${key}`)).json() as Promise<Members>;
const newKey = () => crypto.randomUUID();

/** The kinds of loss, and whether the client has to resume its stream afterwards. */
const LOSSES: readonly [how: string, lose: () => Promise<unknown>, comesBack: boolean][] = [
  ["evicted", () => worker.evict("McpObject"), false],
  [
    "reset",
    async () => {
      for (const id of await worker.objects("McpObject")) await worker.abort("McpObject", id);
    },
    false,
  ],
  ["killed with its process", () => worker.restart(), true],
];

describe.each(LOSSES)("an object that is %s between question and answer", (_, lose, comesBack) => {
  /** Loses the object, and returns the stream on which the call continues. */
  async function goOn(session: Session, stream: Cuttable): Promise<[Session, Cuttable]> {
    await lose();
    if (!comesBack) return [session, stream];
    const again = session.with({}, await at("/mcp"));
    return [again, await again.get(stream.events.findLast(({ id }) => id !== undefined)?.id)];
  }

  test("continues the call with the answer: steps and progress once, and the result on the stream", async () => {
    const session = await open();
    const key = newKey();
    const first = await session.stream("order", { key });
    const question = await asked(first, 1);
    const [second, stream] = await goOn(session, first);
    await answer(second, question);
    const next = await asked(stream, comesBack ? 1 : 2);
    expect(next).toMatchObject({ params: { message: "second?" } });
    const [third, last] = await goOn(second, stream);
    await answer(third, next);
    await last.end();
    expect(last.messages.at(-1)).toMatchObject({ result: { content: [{ text: "first second 1 1" }] } });
    expect(await effectsOf(key)).toEqual({ reserve: 1, pay: 1 });
    const streams = comesBack ? [first, stream, last] : [last];
    expect(streams.flatMap(({ messages }) => progressOf(messages))).toEqual([1, 2, 3]);
    expect(streams.flatMap(questionsOf)).toHaveLength(2);
  });

  test("continues the call when all concurrent questions are answered, in any order, each asked once", {
    tags: "long",
  }, async () => {
    const session = await open();
    const first = await session.stream("both", { key: newKey() });
    const questions = [await asked(first, 1), await asked(first, 2), await asked(first, 3)];
    const [again, stream] = await goOn(session, first);
    for (const question of questions.reverse()) await answer(again, question);
    await stream.end();
    expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "left right 1" }] } });
    expect([...new Set([first, stream])].flatMap(questionsOf)).toHaveLength(3);
  });

  test("accepts an error as the answer; a second answer and an answer of another session have no effect", {
    tags: "long",
  }, async () => {
    const session = await open();
    const first = await session.stream("patient", { key: newKey() });
    const { id } = await asked(first, 1);
    const [again, stream] = await goOn(session, first);
    // Bypasses the oracle, for which an id gets only one response.
    const stranger = await Session.open(`${worker.origin}/mcp`, { capabilities: able });
    await stranger.send({ jsonrpc: "2.0", id, result: { action: "decline" } });
    const error = { jsonrpc: "2.0", id, error: { code: -1, message: "asleep" } };
    for (const headers of [{}, WRONG]) expect((await again.send(error, headers)).status).toBe(202);
    await stream.end();
    expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "refused -1" }] } });
  });

  test("can still end waiting calls by DELETE", { tags: "long" }, async () => {
    const session = await open();
    const first = await session.stream("patient", { key: newKey() });
    const question = await asked(first, 1);
    const [again] = await goOn(session, first);
    expect((await again.delete()).status).toBe(204);
    expect((await again.send({ jsonrpc: "2.0", id: question.id, result: { action: "decline" } })).status).toBe(404);
    for (const id of await worker.objects("McpObject")) {
      const { keys } = await worker.storage("McpObject", id);
      expect(Object.keys(keys).filter((key) => key.startsWith(`call:`))).toEqual([]);
    }
  });
});

test("a question that is not answered times out even if its object was evicted", { tags: "long" }, async () => {
  const session = await open("/hasty");
  const stream = await session.stream("patient", { key: newKey() });
  await asked(stream, 1);
  await worker.evict("HastyObject");
  await stream.end();
  expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "timeout" }] } });
});

test("an object hibernates while a person thinks, and the answer reaches the call", {
  tags: "long",
  timeout: 40_000,
}, async () => {
  const earlier = new Set(await worker.objects("McpObject"));
  const session = await open();
  const stream = await session.stream("patient", { key: newKey() });
  const question = await asked(stream, 1);
  await new Promise((resolve) => setTimeout(resolve, 18_000));
  // Alarms may have woken the objects of earlier tests.
  const own = (await worker.objects("McpObject")).filter((id) => !earlier.has(id));
  expect(own).not.toEqual([]);
  for (const id of own) expect(await worker.evict("McpObject", id)).toBe(0);
  await answer(session, question);
  await stream.end();
  expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "anybody" }] } });
});

describe("after the process was killed while a call runs", () => {
  async function killed(tool: string) {
    const session = await open();
    const key = newKey();
    const first = await session.stream(tool, { key });
    await first.has("some progress", ({ messages }) => progressOf(messages).length >= 3);
    await worker.restart();
    const again = session.with({}, await at("/mcp"));
    const second = await again.get(first.events.findLast(({ id }) => id !== undefined)?.id);
    await second.end();
    return { key, first, second };
  }

  test("a tool that is declared idempotent runs again from its journal, and its progress continues", {
    tags: "long",
  }, async () => {
    const { key, first, second } = await killed("repeatable");
    expect(second.messages.at(-1)).toMatchObject({ result: { content: [{ text: "done 1" }] } });
    expect(await effectsOf(key)).toEqual({ once: 1, ended: 1 });
    const progress = [...progressOf(first.messages), ...progressOf(second.messages)];
    expect(progress).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  test("any other tool is not run again, and its client gets an error", async () => {
    const { key, second } = await killed("unrepeatable");
    expect(second.messages.at(-1)).toMatchObject({ error: { code: -32603, data: { reason: "interrupted" } } });
    expect(await effectsOf(key)).toEqual({ once: 1 });
  });
});

test("an idempotent tool that makes no progress is run again three times, then its client gets an error", async () => {
  const session = await open();
  const key = newKey();
  const stream = await session.stream("stuck", { key });
  for (let runs = 1; runs <= 4; runs += 1) {
    await until(`run ${runs} has begun`, async () => (await effectsOf(key)).begun === runs);
    for (const id of await worker.objects("McpObject")) await worker.abort("McpObject", id);
  }
  await stream.end();
  expect(stream.messages.at(-1)).toMatchObject({ error: { code: -32603, data: { reason: "interrupted" } } });
  expect(await effectsOf(key)).toEqual({ begun: 4 });
});

test("an answer whose id is the name of an inherited member is ignored", { tags: "long" }, async () => {
  const session = await open();
  const stream = await session.stream("patient", { key: newKey() });
  const question = await asked(stream, 1);
  await worker.evict("McpObject");
  const stored = async () => {
    const ids = await worker.objects("McpObject");
    const states = await Promise.all(ids.map((id) => worker.storage("McpObject", id)));
    const rows = states.flatMap(({ keys }) => Object.entries(keys));
    return rows.filter(([name]) => /^(call|more):/.test(name));
  };
  const before = await stored();
  // Bypasses the oracle, for which these do not belong to a question.
  const direct = session.with({}, `${worker.origin}/mcp`);
  for (const id of ["constructor", "toString", "__proto__"]) {
    const answered = await direct.send({ jsonrpc: "2.0", id, result: { action: "decline" } });
    expect(answered.status).toBe(202);
    expect(await stored()).toEqual(before);
  }
  await answer(session, question);
  await stream.end();
  expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "anybody" }] } });
});

test("a waiting call can be cancelled after its object was lost", async () => {
  const session = await open();
  const stream = await session.stream("patient", { key: newKey() }, "wait");
  const question = await asked(stream, 1);
  await worker.evict("McpObject");
  expect((await session.send(notification("notifications/cancelled", { requestId: "wait" }))).status).toBe(202);
  await stream.end();
  expect(stream.messages.filter((message) => "id" in message && message.id === "wait")).toEqual([]);
  await session.send({ jsonrpc: "2.0", id: question.id, result: { action: "decline" } });
  expect((await session.get(stream.events.at(-1)?.id)).status).toBe(405);
});

test("the same tool asks a modern client, round by round", { tags: "long" }, async () => {
  const client = new ModernClient(await at("/mcp"));
  const key = newKey();
  let more: Members = {};
  const capabilities = { "io.modelcontextprotocol/clientCapabilities": able };
  for (const message of ["first?", "second?"]) {
    const params = { name: "order", arguments: { key }, ...more };
    const [{ result }] = (await readAnswer(client.request("tools/call", params, { meta: capabilities }))).messages as [
      { result: Members },
    ];
    const [[name, question] = ["", {}]] = Object.entries(result.inputRequests as Members);
    expect(question).toMatchObject({ params: { message } });
    const content = { value: message.replace("?", "") };
    more = { inputResponses: { [name]: { action: "accept", content } }, requestState: result.requestState };
    await worker.restart();
    Object.assign(client, { url: await at("/mcp") });
  }
  const done = await readAnswer(
    client.request("tools/call", { name: "order", arguments: { key }, ...more }, { meta: capabilities }),
  );
  expect(done.text).toBe("first second 1 1");
  expect(await effectsOf(key)).toEqual({ reserve: 1, pay: 1 });
});

test("DELETE ends a call that waits for an answer while its object hibernates", async () => {
  const session = await open();
  const stream = await session.stream("patient", { key: newKey() });
  await asked(stream, 1);
  expect(await worker.evict("McpObject")).toBeGreaterThan(0);
  expect((await session.delete()).status).toBe(204);
  await stream.end();
  expect(stream.messages.at(-1)).toMatchObject({ error: { data: { reason: "interrupted" } } });
});

test("DELETE after a loss ends the streams that are still open", async () => {
  const session = await open();
  const streams = [
    await session.stream("patient", { key: newKey() }),
    await session.stream("unrepeatable", { key: newKey() }),
  ];
  await asked(streams[0] as Cuttable, 1);
  await streams[1]?.has("progress", ({ messages }) => progressOf(messages).length > 0);
  for (const id of await worker.objects("McpObject")) await worker.abort("McpObject", id);
  expect((await session.delete()).status).toBe(204);
  for (const stream of streams) {
    // With an outcome, or without one if its Worker had not reconnected yet: the client itself has ended the session.
    await stream.end();
    const outcomes = stream.messages.filter((message) => "result" in message || "error" in message);
    expect(outcomes.length).toBeLessThanOrEqual(1);
  }
});

test.each(LOSSES.slice(1))(
  "a call that runs once continues if its object is %s, and runs once",
  { tags: "long" },
  async (_, lose, comesBack) => {
    const session = await open();
    const key = newKey();
    const first = await session.stream("order_once", { key });
    const question = await asked(first, 1);
    await lose();
    const again = comesBack ? session.with({}, await at("/mcp")) : session;
    const last = first.events.findLast(({ id }) => id !== undefined)?.id;
    const stream = comesBack ? await again.get(last) : first;
    await answer(again, question);
    await answer(again, await asked(stream, comesBack ? 1 : 2));
    await stream.end();
    expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "first second 1 1" }] } });
    expect(await effectsOf(key)).toEqual({ reserve: 1, pay: 1 });
  },
);
