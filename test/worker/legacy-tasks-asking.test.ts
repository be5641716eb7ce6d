// @module-tag long
/** Tasks of 2025-11-25 that ask: what is sent with the result, how answers return, and what happens after losses. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import type { Reading } from "./client.ts";
import { methodsOf, nameIt, OwnTaskClient, RELATED, textOf } from "./legacy-task-client.ts";
import { useTaps } from "./taps.ts";

let worker: TestWorker;
const tapped = useTaps();
let client: OwnTaskClient;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/tasks.ts",
    objects: { MCP: "McpObject", LASTING: "LastingObject", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  client = await OwnTaskClient.open(await at("/mcp"));
});

const at = (path: string) => tapped(worker.origin + path);

const newKey = () => crypto.randomUUID();
const effectsOf = async (key: string) => (await (await fetch(`${worker.origin}/effects/${key}`)).json()) as string[];
const questionsOf = ({ messages }: Reading) => messages.filter(({ method, id }) => method && id !== undefined);
const asks = (reading: Reading) => reading.has("a question", (each) => questionsOf(each).length > 0);
const isOver = (reading: Reading) => reading.has("the end", (each) => each.isOver);

/** What a user reads whose client lacks a capability. */
const needs = (capability: string) =>
  `needs the client capability ${capability}. Use a client that supports it, or turn it on in the client's settings.`;

describe("a client without the capability that a handler needs", () => {
  test("gets the name of the capability, and what its user can do, as the result of the task", async () => {
    const unable = await OwnTaskClient.open(await at("/mcp"), { capabilities: {} });
    const taskId = await unable.start("asking", { key: newKey() });
    await unable.reaches(taskId, "failed");
    expect(textOf(await unable.finish(taskId))).toContain(`Tool "asking" ${needs("elicitation.form")}`);
  });

  test("gets the name of the capability as the result of a call in a session", async () => {
    const unable = await OwnTaskClient.open(await at("/mcp"), { capabilities: {} });
    const { isError, content } = await unable.result("tools/call", { name: "url", arguments: { key: newKey() } });
    expect(isError).toBe(true);
    expect(JSON.stringify(content)).toContain(needs("elicitation.url"));
  });
});

describe("a task that asks", () => {
  test("waits for input, asks with the result under its name, and continues with the answers", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    await client.reaches(taskId, "input_required");
    const messages = await client.finish(taskId);
    const questions = messages.filter(({ method }) => method === "elicitation/create");
    expect(questions.map(({ params }) => (params as Members).message)).toEqual(["One?", "Two?", "Three?"]);
    for (const { params } of questions) expect(params).toMatchObject({ _meta: { [RELATED]: { taskId } } });
    expect(textOf(messages)).toBe("1 One? 2 Two? Three?");
    expect(await effectsOf(key)).toHaveLength(3);
    expect(await client.get(taskId)).toMatchObject({ status: "completed" });
  });

  test("reports that it waits before each question", async () => {
    const taskId = await client.start("asking", { key: newKey() });
    const messages = await client.finish(taskId);
    const [ask, status] = ["elicitation/create", "notifications/tasks/status"];
    expect(methodsOf(messages)).toEqual([status, ask, status, ask, ask, undefined]);
    for (const { params } of messages.filter(({ method }) => method === status)) {
      expect(params).toMatchObject({ taskId, status: "input_required", ttl: 60 * 60_000, pollInterval: 20 });
    }
  });

  test("can be awaited before it asks", async () => {
    const taskId = await client.start("asking", { key: newKey() });
    expect(textOf(await client.finish(taskId))).toBe("1 One? 2 Two? Three?");
  });

  test("asks again after an invalid answer, and accepts a refusal of the user", async () => {
    const taskId = await client.start("asking_again", { key: newKey() });
    const answers = [{ action: "accept", content: { name: 5 } }, { action: "decline" }, { action: "cancel" }];
    const messages = await client.finish(taskId, (question) => {
      const result = answers.shift();
      return result ? { result } : nameIt(question);
    });
    expect(textOf(messages)).toBe("decline cancel Again?");
  });

  test("asks by returning", async () => {
    const taskId = await client.start("asking_by_returning", { key: newKey() });
    expect(textOf(await client.finish(taskId))).toBe("2 Round 1?");
  });

  test("asks the client's model and for its roots", async () => {
    const content = { type: "text", text: "!" };
    const sampled = await client.finish(await client.start("sampling", { key: newKey() }), () => ({
      result: { role: "assistant", model: "m", content },
    }));
    expect(methodsOf(sampled)).toContain("sampling/createMessage");
    expect(textOf(sampled)).toBe(JSON.stringify(content));
    const roots = await client.finish(await client.start("roots", { key: newKey() }), () => ({
      result: { roots: [{ uri: "file:///a" }] },
    }));
    expect(textOf(roots)).toBe("file:///a");
  });

  test("asks for a URL with the author's own id", async () => {
    const taskId = await client.start("url", { key: newKey() });
    const messages = await client.finish(taskId, () => ({ result: { action: "accept" } }));
    const question = messages.find(({ method }) => method === "elicitation/create");
    expect(question?.params).toMatchObject({ mode: "url", elicitationId: "mine", _meta: { [RELATED]: { taskId } } });
    expect(textOf(messages)).toBe("accept");
  });
});

describe("a task that continues without an answer", () => {
  test("runs again with a state that its handler returned without a question", async () => {
    const taskId = await client.start("by_state", { key: newKey() });
    expect(textOf(await client.finish(taskId))).toBe("round 3");
  });

  test("waits for a retry of a step and for an answer, and cancels a question that it no longer needs", async () => {
    const taskId = await client.start("racing", { key: newKey() });
    const waiting = await client.open(taskId);
    await isOver(waiting);
    expect(textOf(waiting.messages)).toBe("done without");
    const [question] = questionsOf(waiting);
    const cancelled = waiting.messages.find(({ method }) => method === "notifications/cancelled");
    expect(cancelled?.params).toMatchObject({ requestId: question?.id, _meta: { [RELATED]: { taskId } } });
  });

  test("uses the answer if it arrives first", async () => {
    const taskId = await client.start("racing", { key: newKey() });
    expect(textOf(await client.finish(taskId))).toBe("Instead?");
  });
});

describe("hooks of a task that asks", () => {
  const heard = async (found: (each: Members) => boolean) =>
    ((await (await fetch(`${worker.origin}/heard`)).json()) as Members[]).filter(found);

  test("get the end of a task once, with its tool and client", async () => {
    const taskId = await client.start("patient", { key: newKey() });
    await client.finish(taskId);
    const ends = () => heard((each) => each.taskId === taskId);
    await until("it is told", async () => (await ends()).length > 0);
    expect(await ends()).toEqual([{ taskId, taskStatus: "completed", tool: "patient", version: "2025-11-25" }]);
  });

  test("get the sampling requests of the task once, with the tool that asked", async () => {
    const samples = () => heard(({ outcome }) => outcome !== undefined);
    const { length } = await samples();
    const result = { role: "assistant", model: "m-1", content: { type: "text", text: "!" } };
    await client.finish(await client.start("sampling", { key: newKey() }), () => ({ result }));
    const cancelled = await client.start("sampling", { key: newKey() });
    await client.reaches(cancelled, "input_required");
    // The result was not requested, so nothing was sent.
    await client.result("tasks/cancel", { taskId: cancelled });
    await client.finish(await client.start("sampling", { key: newKey() }), () => ({ result }));
    const record = { outcome: "answered", tool: "sampling", model: "m-1" };
    expect((await samples()).slice(length)).toEqual([record, record]);
  });
});

describe("a question that fails", () => {
  test("rejects in the handler after an error of the client", async () => {
    const taskId = await client.start("patient", { key: newKey() });
    const messages = await client.finish(taskId, () => ({ error: { code: -1, message: "not now" } }));
    expect(textOf(messages)).toMatch(/^refused: .*"not now"$/);
  });

  test("makes the task fail after an error of the client if the handler asks by returning", async () => {
    const taskId = await client.start("asking_by_returning", { key: newKey() });
    const messages = await client.finish(taskId, () => ({ error: { code: -1, message: "not now" } }));
    expect(messages.at(-1)?.error).toMatchObject({ code: -32603, data: { reason: "refused" } });
    expect(await client.get(taskId)).toMatchObject({ status: "failed" });
  });

  test("rejects in the handler and is not sent if the capability is undeclared", async () => {
    const unable = await OwnTaskClient.open(client.session.url, { capabilities: {} });
    const messages = await unable.finish(await unable.start("patient", { key: newKey() }));
    expect(messages).toHaveLength(1);
    expect(textOf(messages)).toMatch(/^unsupported: /);
  });

  test("rejects in the handler if the session's sampling limit is reached, and the task continues", async () => {
    const lasting = await OwnTaskClient.open(await at("/lasting"));
    const content = { type: "text", text: "!" };
    const answer = () => ({ result: { role: "assistant", model: "m", content } });
    const messages = await lasting.finish(await lasting.start("sampling_thrice", { key: newKey() }), answer);
    expect(textOf(messages)).toBe("m m limit");
    expect(methodsOf(messages).filter((method) => method === "sampling/createMessage")).toHaveLength(2);
  });

  test("causes an error if the client accepts only JSON, and the task waits for another request", async () => {
    const taskId = await client.start("patient", { key: newKey() });
    await client.reaches(taskId, "input_required");
    const { headers } = client.session;
    const params = { taskId };
    const response = await client.session.request("tasks/result", params, {
      headers: { ...headers, accept: "application/json" },
    });
    expect(await response.json()).toMatchObject({ error: { code: -32600, data: { reason: "input-required" } } });
    expect(textOf(await client.finish(taskId))).toBe("Still there?");
  });
});

describe("a task that asks while several requests are open", () => {
  test("cancels the question on one of two requests for its result when the other is answered", async () => {
    const taskId = await client.start("patient", { key: newKey() });
    const [one, two] = [await client.open(taskId), await client.open(taskId)];
    await Promise.all([one, two].map(asks));
    const [question = {}] = questionsOf(one);
    await client.answer(question, { result: { action: "accept", content: { name: "one" } } });
    await Promise.all([one, two].map(isOver));
    expect([one, two].map(({ messages }) => textOf(messages))).toEqual(["one", "one"]);
    const [unanswered] = questionsOf(two);
    const cancelled = two.messages.find(({ method }) => method === "notifications/cancelled");
    expect(cancelled?.params).toMatchObject({ requestId: unanswered?.id, _meta: { [RELATED]: { taskId } } });
    expect(methodsOf(one.messages)).not.toContain("notifications/cancelled");
  });

  test("cancels its question and ends waiting requests when it is cancelled", async () => {
    const taskId = await client.start("patient", { key: newKey() });
    const waiting = await client.open(taskId);
    await asks(waiting);
    expect(await client.result("tasks/cancel", { taskId })).toMatchObject({ status: "cancelled" });
    await isOver(waiting);
    expect(methodsOf(waiting.messages)).toContain("notifications/cancelled");
    expect(waiting.messages.at(-1)?.error).toMatchObject({ code: -32600, data: { reason: "cancelled" } });
  });

  test("keeps waiting when a wait for its result is cancelled", async () => {
    const taskId = await client.start("patient", { key: newKey() });
    const response = await client.session.request("tasks/result", { taskId }, { id: "wait" });
    expect(response.status).toBe(200);
    await client.session.notify("notifications/cancelled", { requestId: "wait" });
    await response.text();
    expect(await client.get(taskId)).toMatchObject({ status: "input_required" });
    expect(textOf(await client.finish(taskId))).toBe("Still there?");
  });
});

test("tools declare whether they can be tasks even if hooks of the author wrap the list", async () => {
  const lasting = await OwnTaskClient.open(await at("/lasting"));
  const { tools } = await lasting.result("tools/list");
  expect(tools).toContainEqual(expect.objectContaining({ name: "hold", execution: { taskSupport: "required" } }));
});

describe("losses while a task asks", () => {
  test("another request for the result asks again after the loss of the stream", async () => {
    const taskId = await client.start("patient", { key: newKey() });
    const cut = new AbortController();
    const response = await client.session.request("tasks/result", { taskId }, { signal: cut.signal });
    expect(response.status).toBe(200);
    cut.abort();
    expect(textOf(await client.finish(taskId))).toBe("Still there?");
  });

  test("another request for the result asks again after SIGKILL", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    const waiting = await client.open(taskId);
    await asks(waiting);
    await worker.restart();
    expect(textOf(await client.finish(taskId))).toBe("1 One? 2 Two? Three?");
    expect(await effectsOf(key)).toHaveLength(3);
  });

  test("the answer finds its question after the loss of the session's object, and the result its stream, with replay", async () => {
    const lasting = await OwnTaskClient.open(await at("/lasting"));
    const taskId = await lasting.start("patient", { key: newKey() });
    const waiting = await lasting.open(taskId);
    await asks(waiting);
    expect(await worker.evict("LastingObject")).toBeGreaterThan(0);
    const [question = {}] = questionsOf(waiting);
    await lasting.answer(question, { result: { action: "accept", content: { name: "still here" } } });
    await isOver(waiting);
    expect(questionsOf(waiting)).toHaveLength(1);
    expect(textOf(waiting.messages)).toBe("still here");
  });

  test("the answer finds its question after the loss of the task's object", async () => {
    const taskId = await client.start("patient", { key: newKey() });
    const waiting = await client.open(taskId);
    await asks(waiting);
    await worker.evict("McpObject", Buffer.from(taskId, "base64url").toString("hex"));
    const [question = {}] = questionsOf(waiting);
    await client.answer(question, { result: { action: "accept", content: { name: "still here" } } });
    await isOver(waiting);
    expect(textOf(waiting.messages)).toBe("still here");
  });
});

test("with replay a question that is not answered keeps waiting with its task", async () => {
  const lasting = await OwnTaskClient.open(await at("/lasting"));
  const taskId = await lasting.start("patient", { key: newKey() });
  const waiting = await lasting.open(taskId);
  await asks(waiting);
  await worker.advance(11 * 60_000);
  await isOver(waiting);
  expect(waiting.messages.at(-1)?.error).toMatchObject({ code: -32600, data: { reason: "input-required" } });
  expect(await lasting.get(taskId)).toMatchObject({ status: "input_required" });
  const again = await lasting.open(taskId);
  await asks(again);
  await lasting.result("tasks/cancel", { taskId });
  await isOver(again);
});
