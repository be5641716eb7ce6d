/** Tasks of 2025-11-25: how they are created, read and cancelled, and their outcomes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";
import { OwnTaskClient, RELATED, textOf } from "./legacy-task-client.ts";
import { useTaps } from "./taps.ts";
import { TaskClient } from "./task-client.ts";

let worker: TestWorker;
const tapped = useTaps();
let client: OwnTaskClient;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/tasks.ts",
    objects: { MCP: "McpObject", SLICED: "SlicedObject", EACH: "EachObject", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  client = await OwnTaskClient.open(await at("/mcp"));
});

const at = (path: string) => tapped(worker.origin + path);

/** For messages that no client may send: bypasses the oracle. */
const untapped = () => client.at(`${worker.origin}/mcp`);
const newKey = () => crypto.randomUUID();
const effectsOf = async (key: string) => (await (await fetch(`${worker.origin}/effects/${key}`)).json()) as string[];
const release = (key: string) => fetch(`${worker.origin}/release/${key}`, { method: "POST" });
const objectOf = (taskId: string) => Buffer.from(taskId, "base64url").toString("hex");
const hasBegun = (key: string) => until("the handler has begun", async () => (await effectsOf(key)).length > 0);
const UNKNOWN = {
  code: -32602,
  message: "There is no such task: it has expired, never existed, is not yours, or needs a scope that you lack.",
};
/** A well-formed id of a task that does not exist. */
const STRANGER = Buffer.from(new Uint8Array(32).fill(7)).toString("base64url");
const DAY_MS = 24 * 60 * 60_000;

describe("the support of tasks", () => {
  test("is declared to a client of 2025-11-25, in the response to initialize and in the tool list", async () => {
    const { capabilities } = client.session.greeting;
    expect((capabilities as Members).tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    const { tools } = await client.result("tools/list");
    const support = (tools as Members[]).map(({ name, execution }) => [name, execution]);
    expect(support).toContainEqual(["steps", { taskSupport: "optional" }]);
    expect(support).toContainEqual(["hold", { taskSupport: "required" }]);
    expect(support).toContainEqual(["never_a_task", undefined]);
  });

  test("does not affect the other capabilities in the response to initialize", async () => {
    const older = await LegacyClient.open(client.session.url, { version: "2025-06-18" });
    const { tasks: _, ...others } = client.session.greeting.capabilities as Members;
    expect(others).toEqual(older.greeting.capabilities);
  });

  test.each(["2024-11-05", "2025-03-26", "2025-06-18"])(
    "is not declared to clients of %s, whose task params are ignored",
    async (version) => {
      const older = await OwnTaskClient.open(client.session.url, { version });
      expect(older.session.greeting.capabilities).not.toHaveProperty("tasks");
      expect(JSON.stringify(await older.result("tools/list"))).not.toContain("execution");
      const called = await older.create("steps", { key: newKey() });
      expect(called).toMatchObject({ content: [{ text: "1 2 3" }] });
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        expect(await older.error(method, { taskId: STRANGER })).toMatchObject({ code: -32601 });
      }
    },
  );

  test("is not declared to modern clients", async () => {
    const modern = new ModernClient(client.session.url);
    const { raw } = await readAnswer(modern.request("tools/list"));
    expect(raw).not.toContain("taskSupport");
    expect((await readAnswer(modern.request("tasks/result", { taskId: STRANGER }))).raw).toContain("-32601");
  });

  test("is not declared if the server has no tasks: the same call is served like any other call", async () => {
    const without = await OwnTaskClient.open(await at("/without"));
    expect(without.session.greeting.capabilities).not.toHaveProperty("tasks");
    expect(JSON.stringify(await without.result("tools/list"))).not.toContain("execution");
    expect(await without.create("steps", { key: newKey() })).toMatchObject({ content: [{ text: "1 2 3" }] });
  });

  test("is also declared to clients without a session, if the server has no sessions", async () => {
    const sliced = await OwnTaskClient.open(await at("/sliced"));
    expect(sliced.session.sessionId).toBeUndefined();
    expect(sliced.session.greeting.capabilities).toHaveProperty("tasks");
    const taskId = await sliced.start("steps", { key: newKey() });
    expect(textOf(await sliced.finish(taskId))).toBe("1 2 3");
  });
});

describe("calls and tasks", () => {
  test("a call that asks for a task gets a task at once, and later the result with the task's name", async () => {
    const key = newKey();
    const { task, _meta } = (await client.create("hold", { key }, { ttl: 60_000 })) as {
      task: Members;
      _meta: Members;
    };
    const { taskId, createdAt } = task;
    expect(_meta).toEqual({ [RELATED]: { taskId } });
    const since = { taskId, createdAt, ttl: 60_000, pollInterval: 20 };
    expect(task).toEqual({ ...since, status: "working", lastUpdatedAt: createdAt });
    await until("it says how far it is", async () => (await client.get(String(taskId))).statusMessage === "holding");
    const finishing = client.finish(String(taskId));
    await release(key);
    expect((await finishing).at(-1)?.result).toEqual({
      content: [{ type: "text", text: "1 2" }],
      _meta: { [RELATED]: { taskId } },
    });
    const done = await client.get(String(taskId));
    expect(done).toMatchObject({ ...since, status: "completed" });
    expect(done).not.toHaveProperty("_meta");
    expect(new Date(String(done.lastUpdatedAt)).getTime()).toBeGreaterThanOrEqual(
      new Date(String(createdAt)).getTime(),
    );
    // The result can be read again.
    expect(textOf(await client.finish(String(taskId)))).toBe("1 2");
  });

  test("a call that does not ask for a task runs on the request, if the tool allows that", async () => {
    expect((await readAnswer(client.session.call("steps", { key: newKey() }))).text).toBe("1 2 3");
    const refused = await client.error("tools/call", { name: "hold", arguments: { key: newKey() } });
    expect(refused).toMatchObject({ code: -32601 });
  });

  test("a call that asks for a task although the tool forbids it is refused", async () => {
    const params = { name: "never_a_task", arguments: { key: "k" }, task: {} };
    expect(await client.error("tools/call", params)).toMatchObject({ code: -32601 });
    expect(await client.error("tools/call", { ...params, name: "nobody's" })).toMatchObject({ code: -32602 });
  });

  test.each([[{ task: 5 }], [{ task: { ttl: "long" } }], [{ task: { ttl: -1 } }], [{ task: { ttl: 1.5 } }]])(
    "a call that asks for a task with %j is refused",
    async (more) => {
      const params = { name: "steps", arguments: { key: "k" }, ...more };
      expect(await untapped().error("tools/call", params)).toMatchObject({ code: -32602 });
    },
  );

  test("a task is kept for the requested time, within limits", async () => {
    const ttlOf = async (task: Members) =>
      ((await client.create("steps", { key: newKey() }, task)).task as Members).ttl;
    expect(await ttlOf({ ttl: 5_000 })).toBe(5_000);
    expect(await ttlOf({ ttl: 0 })).toBe(60);
    expect(await ttlOf({ ttl: DAY_MS })).toBe(60 * 60_000);
    expect(await ttlOf({})).toBe(60 * 60_000);
    const briefTtlOf = async (task: Members) =>
      ((await client.create("brief", { key: newKey() }, task)).task as Members).ttl;
    expect(await briefTtlOf({ ttl: DAY_MS })).toBe(10 * 60_000);
    expect(await briefTtlOf({ ttl: 5_000 })).toBe(5_000);
    expect(await briefTtlOf({})).toBe(10 * 60_000);
  });

  test("a call starts as a task even if its handler would start on the request", async () => {
    expect(textOf(await client.finish(await client.start("deciding", { key: "k" })))).toBe("decided");
    const taskId = await client.start("asking_first", { key: newKey() });
    expect(textOf(await client.finish(taskId))).toBe("1 First? 2 Then?");
  });
});

describe("the outcome of a task", () => {
  test("is the same for invalid arguments as on a request", async () => {
    const taskId = await client.start("steps", { key: 5 });
    const result = (await client.finish(taskId)).at(-1)?.result;
    expect(result).toMatchObject({ isError: true, _meta: { [RELATED]: { taskId } } });
    expect(await client.get(taskId)).toMatchObject({ status: "failed" });
  });

  test("is a result for an error of the tool, and the task is failed with the reason", async () => {
    const taskId = await client.start("tool_error", { key: newKey() });
    const result = (await client.finish(taskId)).at(-1)?.result;
    expect(result).toMatchObject({ isError: true, content: [{ text: "the model reads this" }] });
    expect(await client.get(taskId)).toMatchObject({ status: "failed", statusMessage: "the model reads this" });
  });

  test("is a result without internal details for an exception", async () => {
    const taskId = await client.start("exception", { key: newKey() });
    const said = JSON.stringify([await client.finish(taskId), await client.get(taskId)]);
    expect(said).toContain('"isError":true');
    expect(said).not.toContain("nobody reads this");
  });

  test("is the protocol error that the handler threw", async () => {
    const taskId = await client.start("mcp_error", { key: newKey() });
    const error = { code: 4711, message: "of my own", data: { more: true } };
    expect(await client.error("tasks/result", { taskId })).toEqual(error);
    expect(await client.get(taskId)).toMatchObject({ status: "failed", statusMessage: "of my own" });
  });

  test("is an error that asks for URLs, as on a request", async () => {
    const taskId = await client.start("url_first", { key: newKey() });
    expect(await client.error("tasks/result", { taskId })).toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: "url", url: "https://example.com/sign-in" }] },
    });
  });
});

describe("cancelling a task", () => {
  test("ends it while it works, and ends requests that wait for it", async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await hasBegun(key);
    const waiting = client.last("tasks/result", { taskId });
    expect(await client.result("tasks/cancel", { taskId })).toMatchObject({ taskId, status: "cancelled" });
    expect((await waiting).error).toMatchObject({ code: -32600, data: { reason: "cancelled" } });
    await release(key);
    expect(await client.get(taskId)).toMatchObject({ status: "cancelled" });
    expect(await effectsOf(key)).toHaveLength(1);
  });

  test("is different from cancelling the wait for its result, which does not end the task", async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    let answer: string | undefined;
    const waiting = client.session.request("tasks/result", { taskId }, { id: "wait" });
    const ended = waiting.then(async (response) => {
      answer = await response.text();
    });
    await until("the wait is over", async () => {
      // The wait may not have begun yet.
      await client.session.notify("notifications/cancelled", { requestId: "wait" });
      return answer !== undefined;
    });
    await ended;
    expect(answer).not.toContain("result");
    await release(key);
    expect(textOf(await client.finish(taskId))).toBe("1 2");
  });

  test("is refused when it has finished, in whatever way", async () => {
    const ended = {
      completed: await client.start("steps", { key: newKey() }),
      failed: await client.start("tool_error", { key: newKey() }),
      cancelled: await client.start("hold", { key: newKey() }),
    };
    await client.result("tasks/cancel", { taskId: ended.cancelled });
    for (const [status, taskId] of Object.entries(ended)) {
      await client.reaches(taskId, status);
      const refused = await client.error("tasks/cancel", { taskId });
      expect(refused).toMatchObject({ code: -32602, message: `The task has ended: its status is ${status}.` });
      expect(await client.get(taskId)).toMatchObject({ status });
    }
  });
});

describe("the owner of a task", () => {
  const METHODS = ["tasks/get", "tasks/result", "tasks/cancel"];

  test.each(METHODS)("gets the same error from %s for foreign, unknown and malformed ids", async (method) => {
    const alice = await OwnTaskClient.open(client.session.url, { token: "alice" });
    const bob = await OwnTaskClient.open(client.session.url, { token: "bob" });
    const taskId = await alice.start("whoami", { key: newKey() });
    for (const stranger of [bob, client]) expect(await stranger.error(method, { taskId })).toMatchObject(UNKNOWN);
    for (const made of [STRANGER, "made up", taskId.slice(1)]) {
      expect(await alice.error(method, { taskId: made })).toMatchObject(UNKNOWN);
    }
    expect(await untapped().error(method, {})).toMatchObject({ code: -32602, data: { field: "taskId" } });
    expect(textOf(await alice.finish(taskId))).toBe("alice");
  });

  test("is its principal in any session, and anyone with the id if the task is anonymous", async () => {
    const alice = await OwnTaskClient.open(client.session.url, { token: "alice" });
    const later = await OwnTaskClient.open(client.session.url, { token: "alice" });
    expect(textOf(await later.finish(await alice.start("whoami", { key: newKey() })))).toBe("alice");
    const another = await OwnTaskClient.open(client.session.url);
    expect(textOf(await another.finish(await client.start("whoami", { key: newKey() })))).toBe("anonymous");
  });

  test("has the same task in clients of both eras", async () => {
    const modern = new TaskClient(client.session.url);
    const begun = await client.start("asking", { key: newKey() });
    expect(await modern.finish(begun)).toBe("1 One? 2 Two? Three?");
    expect(textOf(await client.finish(begun))).toBe("1 One? 2 Two? Three?");
    const other = await modern.start("asking", { key: newKey() });
    expect(textOf(await client.finish(other))).toBe("1 One? 2 Two? Three?");
  });

  test("cannot list tasks", async () => {
    expect(await client.error("tasks/list")).toMatchObject({ code: -32601 });
  });
});

describe("a task", () => {
  test("survives SIGKILL before its result, and each step runs once", async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await hasBegun(key);
    await worker.restart();
    await release(key);
    expect(textOf(await client.finish(taskId))).toBe("1 2");
    expect(await effectsOf(key)).toHaveLength(2);
  });

  test("survives SIGKILL right after it was created", async () => {
    const taskId = await client.start("steps", { key: newKey() });
    await worker.restart();
    expect(textOf(await client.finish(taskId))).toBe("1 2 3");
  });

  test("survives the loss of its object while a request waits for its result, and the wait continues", async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await hasBegun(key);
    const waiting = client.finish(taskId);
    await worker.abort("McpObject", objectOf(taskId));
    await release(key);
    expect(textOf(await waiting)).toBe("1 2");
    expect(await effectsOf(key)).toHaveLength(2);
  });

  test("survives the loss of its session and is available in the next session", async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await hasBegun(key);
    await client.session.delete();
    await release(key);
    const next = await OwnTaskClient.open(client.session.url);
    expect(textOf(await next.finish(taskId))).toBe("1 2");
  });

  test("is deleted completely when it has expired", async () => {
    const taskId = await client.start("asking", { key: newKey() }, { ttl: 30_000 });
    await client.reaches(taskId, "input_required");
    await worker.advance(30_001);
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      expect(await client.error(method, { taskId })).toMatchObject(UNKNOWN);
    }
    const { keys, alarmAtMs } = await worker.storage("McpObject", objectOf(taskId));
    expect([keys, alarmAtMs]).toEqual([{}, undefined]);
  });
});
