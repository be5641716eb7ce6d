// @module-tag long
/** Requirements of the tasks extension that no scenario of the official suite covers. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { CAPABILITIES_KEY, type Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { DELIBERATELY_BAD, type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { LegacyClient, ModernClient, Reading } from "../worker/client.ts";
import { ABLE, answersTo, keysOf, TASKS, TaskClient, textOf } from "../worker/task-client.ts";
import { SUBSCRIPTION_ID } from "./listen-support.ts";

let worker: TestWorker;
let tap: HttpTap;
let client: TaskClient;
const leaving = new AbortController();

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/tasks.ts",
    objects: { MCP: "McpObject", SLICED: "SlicedObject", EACH: "EachObject", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(async () => {
  leaving.abort();
  await worker?.stop();
});
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/mcp`);
  client = new TaskClient(tap.url);
});
afterEach(async () => {
  await tap.close();
  tap.oracle.expectClean();
});

const newKey = () => crypto.randomUUID();
const effectsOf = async (key: string) => (await (await fetch(`${worker.origin}/effects/${key}`)).json()) as string[];
const release = (key: string) => fetch(`${worker.origin}/release/${key}`, { method: "POST" });
const hasBegun = (key: string) => until("the handler has begun", async () => (await effectsOf(key)).length > 0);
const MISSING = { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } };
const UNKNOWN = { code: -32602, data: { field: "taskId" } };
/** A well-formed id of a task that does not exist. */
const STRANGER = Buffer.from(new Uint8Array(32).fill(7)).toString("base64url");
const METHODS: readonly [method: string, params: Members][] = [
  ["tasks/get", {}],
  ["tasks/update", { inputResponses: {} }],
  ["tasks/cancel", {}],
];
const ENVELOPE = ["resultType", "_meta"];

describe("the tasks extension", () => {
  test("is declared by the server as an extension, and not as the older capability", async () => {
    const { capabilities } = await client.result("server/discover");
    expect(capabilities).toMatchObject({ extensions: { [TASKS]: {} } });
    expect(capabilities).not.toHaveProperty("tasks");
  });

  test.each(["2025-03-26", "2025-06-18"])("is never declared to clients of %s", async (version) => {
    const legacy = await LegacyClient.open(client.url, { version });
    expect(JSON.stringify(legacy.greeting.capabilities)).not.toContain("tasks");
  });

  test("must be declared by the client in each request; the older capability does not count", async () => {
    const older = client.as({ capabilities: { tasks: { requests: { tools: { call: {} } } } } });
    for (const [method, params] of METHODS) {
      expect(await older.error(method, { ...params, taskId: STRANGER })).toMatchObject(MISSING);
    }
    expect(await older.call("steps", { key: newKey() })).toMatchObject({ resultType: "complete" });
    expect(await older.error("tools/call", { name: "hold", arguments: { key: "k" } })).toMatchObject(MISSING);
  });

  test("does not make a task of a tool that declares none, even for a client that supports tasks", async () => {
    const result = await client.call("never_a_task", { key: newKey() });
    expect(result).toMatchObject({ resultType: "complete", content: [{ text: "at once" }] });
  });

  test("is required for task methods, even for the client's own task", async () => {
    const taskId = await client.start("steps", { key: newKey() });
    for (const [method, params] of METHODS) {
      expect(await client.as({ capabilities: {} }).error(method, { ...params, taskId })).toMatchObject(MISSING);
    }
    expect((await client.as({ capabilities: {} }).request("tasks/get", { taskId })).status).toBe(400);
  });
});

describe("results and tasks", () => {
  test('resultType is "task" for a call that creates a task, and "complete" for all other requests', async () => {
    const key = newKey();
    const created = await client.call("hold", { key });
    expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: 3_600_000, pollIntervalMs: 20 });
    const taskId = String(created.taskId);
    expect(await client.get(taskId)).toMatchObject({ resultType: "complete", status: "working" });
    expect(await client.update(taskId, {})).toMatchObject({ resultType: "complete" });
    await release(key);
    expect(await client.reaches(taskId, "completed")).toMatchObject({
      resultType: "complete",
      result: { resultType: "complete" },
    });
    expect(await client.cancel(taskId)).toMatchObject({ resultType: "complete" });
  });

  test("acknowledgements have no other content, even for a finished task", async () => {
    const taskId = await client.start("asking", { key: newKey() });
    for (let round = 0; round < 2; round += 1) {
      const acknowledged = [await client.update(taskId, {}), await client.cancel(taskId)];
      expect(acknowledged.flatMap(Object.keys).filter((key) => !ENVELOPE.includes(key))).toEqual([]);
    }
  });

  test("a failed tool has a result and not a protocol error, whether it threw a ToolError or another exception", async () => {
    for (const [tool, text] of [
      ["tool_error", "the model reads this"],
      ["exception", "Reference:"],
    ] as const) {
      const task = await client.reaches(await client.start(tool, { key: "k" }), "completed");
      expect(task).toMatchObject({ result: { isError: true } });
      expect(textOf(task)).toContain(text);
      expect(JSON.stringify(task)).not.toContain("nobody reads this");
    }
  });

  test("a protocol error makes the task failed, with the error unchanged and its message as the status message", async () => {
    const task = await client.reaches(await client.start("mcp_error", { key: "k" }), "failed");
    expect(task).toMatchObject({
      statusMessage: "of my own",
      error: { code: 4711, message: "of my own", data: { more: true } },
    });
    expect(task).not.toHaveProperty("result");
  });

  test("a question with an undeclared capability makes the task failed with -32021", async () => {
    const { sampling: _, ...capabilities } = ABLE;
    const some = client.as({ capabilities });
    const { error } = await some.reaches(await some.start("sampling", { key: "k" }), "failed");
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { sampling: {} } } });
  });
});

describe("cancelling a task", () => {
  test("ends it as cancelled, aborts the handler, and no message follows", async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await hasBegun(key);
    await client.cancel(taskId);
    const task = await client.reaches(taskId, "cancelled");
    expect(task).not.toHaveProperty("result");
    await release(key);
    expect(await client.get(taskId)).toEqual(task);
    expect(await effectsOf(key)).toHaveLength(1);
  });

  test("cancels the question that the task waits for", async () => {
    const taskId = await client.start("asking", { key: newKey() });
    const asked = await client.reaches(taskId, "input_required");
    await client.cancel(taskId);
    await client.update(taskId, answersTo(asked, String));
    const task = await client.get(taskId);
    expect(task.status).toBe("cancelled");
    expect(task).not.toHaveProperty("inputRequests");
  });

  test("leaves one of the two outcomes as final if the work ends at the same time", async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => client.start("steps", { key: newKey() })));
    await Promise.all(ids.map((taskId) => client.cancel(taskId)));
    for (const taskId of ids) {
      const first = await client.reaches(taskId, "cancelled", "completed");
      expect(await client.get(taskId)).toEqual(first);
    }
  });

  test("is not possible by notifications/cancelled for the request that created the task", async () => {
    const key = newKey();
    const { taskId } = await client.call("hold", { key });
    const modern = new ModernClient(client.url);
    const headers = { "mcp-method": "notifications/cancelled", "mcp-protocol-version": "2026-07-28" };
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    const body = JSON.stringify(cancelled);
    const init = { method: "POST", headers: { "content-type": "application/json", accept: "*/*", ...headers }, body };
    expect((await fetch(modern.url, init)).status).toBe(202);
    await release(key);
    expect(await client.finish(String(taskId))).toBe("1 2");
  });
});

describe("an input key of a task", () => {
  test("is ignored if it is not open: unknown, already answered, or of a later question", async () => {
    const taskId = await client.start("asking", { key: newKey() });
    const first = await client.reaches(taskId, "input_required");
    await client.update(taskId, { unheard: { action: "accept", content: { name: "no" } } });
    expect(keysOf(await client.get(taskId))).toEqual(keysOf(first));
    await client.update(
      taskId,
      answersTo(first, () => "yes"),
    );
    const second = await client.reaches(taskId, "input_required");
    await client.update(
      taskId,
      answersTo(first, () => "no"),
    );
    expect(keysOf(await client.get(taskId))).toEqual(keysOf(second));
    expect(await client.finish(taskId, () => "also")).toBe("1 yes 2 also also");
  });

  test.each(["asking", "asking_again", "asking_by_returning"])("is not used twice (%s)", async (tool) => {
    const taskId = await client.start(tool, { key: newKey() });
    const keys: string[] = [];
    for (;;) {
      const task = await client.reaches(taskId, "input_required", "completed");
      if (task.status === "completed") break;
      keys.push(...keysOf(task));
      await client.update(taskId, answersTo(task, String));
    }
    expect(keys.length).toBeGreaterThan(1);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("is not a key that was used in the request that created the task", async () => {
    const asked = await client.call("asking_first", { key: newKey() });
    const inputResponses = answersTo(asked, String);
    const taskId = await client.start("asking_first", { key: "again" }, { inputResponses });
    const task = await client.reaches(taskId, "input_required");
    expect(keysOf(asked)).toEqual(["first"]);
    expect(keysOf(task)).toEqual(["then"]);
    await client.cancel(taskId);
  });
});

describe("the id of a task", () => {
  test("causes the same error in every method if it is unknown, forged, expired or of another user", async () => {
    const alice = client.as({ token: "alice" });
    const hers = await alice.start("asking", { key: newKey() });
    await alice.reaches(hers, "input_required");
    const theirs = await client.start("asking", { key: newKey() });
    const forged = `${hers.startsWith("A") ? "B" : "A"}${hers.slice(1)}`;
    const cases: readonly [TaskClient, string][] = [
      [alice, "nothing like it"],
      [alice, STRANGER],
      [alice, forged],
      [alice, theirs],
      [client.as({ token: "bob" }), hers],
      [client, hers],
      [alice, ""],
    ];
    const texts = new Set<string>();
    for (const [caller, taskId] of cases) {
      for (const [method, params] of METHODS) {
        const error = await caller.error(method, { ...params, taskId });
        expect(error).toMatchObject(UNKNOWN);
        texts.add(JSON.stringify(error));
      }
    }
    expect(texts.size).toBe(1);
    expect(await alice.get(hers)).toMatchObject({ status: "input_required" });
  });

  test("has 43 characters and is unique, and a forged id does not create an object", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => client.start("whoami", { key: "k" })));
    expect(new Set(ids).size).toBe(20);
    for (const id of ids) expect(id).toMatch(/^[\w-]{43}$/);
    const before = await worker.objects("McpObject");
    await client.error("tasks/get", { taskId: STRANGER });
    expect(await worker.objects("McpObject")).toHaveLength(before.length);
  });

  test("is rejected with -32602 if it is not a string, and so are answers that are not an object", async () => {
    const bad = { [DELIBERATELY_BAD]: "1" };
    expect(await client.error("tasks/get", { taskId: 5 }, { ...bad, "mcp-name": "5" })).toMatchObject({ code: -32602 });
    const taskId = await client.start("whoami", { key: "k" });
    expect(await client.error("tasks/update", { taskId }, bad)).toMatchObject({ code: -32602 });
  });

  test("must be in the routing header, including for update and cancel", async () => {
    const taskId = await client.start("whoami", { key: "k" });
    for (const [method, params] of METHODS) {
      for (const name of ["another", undefined]) {
        const answer = await client.request(method, { ...params, taskId }, { "mcp-name": name });
        expect([answer.status, answer.messages.at(-1)?.error]).toMatchObject([400, { code: -32020 }]);
      }
    }
  });
});

describe("listening to tasks", () => {
  const listening = async (taskIds: unknown, options: { token?: string; capabilities?: Members } = {}) => {
    const { token, capabilities = ABLE } = options;
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const meta = { [CAPABILITIES_KEY]: capabilities };
    const params = { notifications: { taskIds } };
    const { signal } = leaving;
    return new ModernClient(client.url).request("subscriptions/listen", params, { id: "l", meta, headers, signal });
  };
  const statusesOf = (reading: Reading, taskId: string) =>
    reading.messages.flatMap(({ method, params }) => {
      const { taskId: id, status } = (params ?? {}) as Members;
      return method === "notifications/tasks" && id === taskId ? [status] : [];
    });

  test("sends notifications/tasks that match tasks/get, from the current status to the end", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    await client.reaches(taskId, "input_required");
    const reading = new Reading(await listening([taskId]));
    await reading.has("its status", () => statusesOf(reading, taskId).includes("input_required"));
    await client.finish(taskId);
    await reading.has("its end", () => statusesOf(reading, taskId).includes("completed"));
    const [acknowledged, ...news] = reading.messages;
    expect(acknowledged).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
    const { _meta, resultType, ...now } = await client.get(taskId);
    expect(news.at(-1)).toMatchObject({ method: "notifications/tasks", params: now });
    expect(Object.keys(news.at(-1)?.params as Members).toSorted()).toEqual([...Object.keys(now), "_meta"].toSorted());
    for (const { params } of news) expect((params as Members)._meta).toMatchObject({ [SUBSCRIPTION_ID]: "l" });
    expect(new Set(news.map((each) => JSON.stringify(each))).size).toBe(news.length);
  });

  test("reports a cancelled task", async () => {
    const taskId = await client.start("hold", { key: newKey() });
    const reading = new Reading(await listening([taskId]));
    await reading.has("its status", () => statusesOf(reading, taskId).includes("working"));
    await client.cancel(taskId);
    await reading.has("its end", () => statusesOf(reading, taskId).includes("cancelled"));
  });

  test("reports an answer to one of two questions, and the cancellation of a task that waits", async () => {
    const taskId = await client.start("asking_two", { key: newKey() });
    const { inputRequests } = await client.reaches(taskId, "input_required");
    const [first = "", second = ""] = Object.keys(inputRequests as Members);
    const reading = new Reading(await listening([taskId]));
    const openOf = ({ params }: Members) => Object.keys((params as Members).inputRequests ?? {}).join();
    await reading.has("both questions", ({ messages }) =>
      messages.some((each) => openOf(each) === `${first},${second}`),
    );
    await client.update(taskId, { [first]: { action: "decline" } });
    await reading.has("one question", ({ messages }) => messages.some((each) => openOf(each) === second));
    await client.cancel(taskId);
    await reading.has("its end", () => statusesOf(reading, taskId).includes("cancelled"));
  });

  test("loses no notification when the hub is reset meanwhile", async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    const reading = new Reading(await listening([taskId]));
    await reading.has("its status", () => statusesOf(reading, taskId).includes("working"));
    const [hub = ""] = await worker.objects("McpObject");
    await worker.abort("McpObject", hub);
    await release(key);
    await reading.has("its end", () => statusesOf(reading, taskId).includes("completed"));
  });

  test("sends neither progress nor log messages", async () => {
    const key = newKey();
    const taskId = await client.start("noisy", { key });
    const reading = new Reading(await listening([taskId]));
    await until("it has made its noise", async () => (await client.get(taskId)).statusMessage !== undefined);
    await release(key);
    await reading.has("its end", () => statusesOf(reading, taskId).includes("completed"));
    const methods = new Set(reading.messages.map(({ method }) => method));
    expect([...methods]).toEqual(["notifications/subscriptions/acknowledged", "notifications/tasks"]);
  });

  test("omits unknown tasks and tasks of other users", async () => {
    const taskId = await client.as({ token: "alice" }).start("asking", { key: newKey() });
    const reading = new Reading(await listening([taskId, STRANGER], { token: "bob" }));
    await reading.has("an acknowledgement", ({ messages }) => messages.length > 0);
    expect(reading.messages[0]).toMatchObject({ params: { notifications: {} } });
    expect(JSON.stringify(reading.messages)).not.toContain(taskId);
  });

  test("is rejected with -32021 without the extension, and with -32602 for an invalid or too long filter", async () => {
    const taskId = await client.start("whoami", { key: "k" });
    for (const [ids, options, error] of [
      [[taskId], { capabilities: {} }, MISSING],
      ["all", {}, { code: -32602 }],
      [Array.from({ length: 101 }, () => taskId), {}, { code: -32602 }],
    ] as const) {
      const response = await listening(ids, options);
      expect(await response.json()).toMatchObject({ error });
    }
  });
});

test("many concurrent tasks do not affect each other", async () => {
  const keys = Array.from({ length: 40 }, newKey);
  const ids = await Promise.all(keys.map((key) => client.start("asking", { key })));
  const texts = await Promise.all(ids.map((taskId, at) => client.finish(taskId, (message) => `${at}${message}`)));
  expect(texts).toEqual(keys.map((_, at) => `1 ${at}One? 2 ${at}Two? ${at}Three?`));
  for (const key of keys) expect(await effectsOf(key)).toHaveLength(3);
});
