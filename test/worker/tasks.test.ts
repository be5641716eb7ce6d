/** Tasks: they continue from what came before, survive losses, repeat nothing, and leave nothing behind. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Counts } from "../costs/counted.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, readAnswer } from "./client.ts";
import { useTaps } from "./taps.ts";
import { answersTo, keysOf, TASKS, TaskClient, textOf } from "./task-client.ts";

let worker: TestWorker;
const tapped = useTaps();
let client: TaskClient;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/tasks.ts",
    objects: { MCP: "McpObject", SLICED: "SlicedObject", EACH: "EachObject", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  client = await at("/mcp");
});

const at = async (path: string) => new TaskClient(await tapped(worker.origin + path));

const newKey = () => crypto.randomUUID();
const effectsOf = async (key: string) => (await (await fetch(`${worker.origin}/effects/${key}`)).json()) as string[];
const release = (key: string) => fetch(`${worker.origin}/release/${key}`, { method: "POST" });
const objectOf = (taskId: string) => Buffer.from(taskId, "base64url").toString("hex");
const hasBegun = (key: string) => until("the handler has begun", async () => (await effectsOf(key)).length > 0);

describe("a task whose handler returns a state without a question", () => {
  test("runs again with that state", async () => {
    const taskId = await client.start("by_state", { key: newKey() });
    expect(await client.finish(taskId)).toBe("round 3");
  });

  test("can do so any number of times while it makes progress with its steps", { tags: "long" }, async () => {
    const key = newKey();
    const taskId = await client.start("by_state", { key, steps: 40, background: true });
    expect(await client.finish(taskId)).toBe("round 40");
    expect(await effectsOf(key)).toHaveLength(41);
  });

  test("fails if it does so forever, and onError gets the reason", async () => {
    const taskId = await client.start("by_state", { key: newKey(), steps: 1_000_000 });
    const { error } = (await client.reaches(taskId, "failed")) as { error: Members };
    expect(error.code).toBe(-32603);
    expect(error.message).not.toMatch(/inputRequired/);
    const errors = await (await fetch(`${worker.origin}/errors`)).json();
    expect(errors).toContainEqual(expect.stringMatching(/inputRequired\(\{\}, state\) 32 times/));
  });
});

test("a task that asks a client without the capability fails with the capability's name, and what the user can do", async () => {
  const unable = client.as({ capabilities: { extensions: { [TASKS]: {} } } });
  const task = await unable.reaches(await unable.start("asking", { key: newKey() }), "failed");
  expect(task.error).toMatchObject({
    code: -32021,
    message: expect.stringMatching(
      /needs the client capability elicitation\.form\. Enable it in the settings of the client/,
    ),
  });
});

describe("a task", () => {
  test("returns its handler's result, and runs each step once", async () => {
    const key = newKey();
    const taskId = await client.start("steps", { key });
    expect(await client.finish(taskId)).toBe("1 2 3");
    expect(new Set(await effectsOf(key)).size).toBe(3);
  });

  test("reports its progress", async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await until("it says so", async () => (await client.get(taskId)).statusMessage === "holding");
    await release(key);
    expect(await client.finish(taskId)).toBe("1 2");
  });

  test("asks one question at a time or several together, and repeats no step", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    expect(await client.finish(taskId)).toBe("1 One? 2 Two? Three?");
    expect(await effectsOf(key)).toHaveLength(3);
    expect(new Set(await effectsOf(key)).size).toBe(3);
  });

  test("continues when all of several questions are answered", async () => {
    const taskId = await client.start("asking", { key: newKey() });
    await client.update(taskId, answersTo(await client.reaches(taskId, "input_required"), String));
    const asked = await client.reaches(taskId, "input_required");
    const [first = "", second = ""] = keysOf(asked);
    await client.update(taskId, { [first]: { action: "decline" } });
    expect(keysOf(await client.get(taskId))).toEqual([second]);
    await client.update(taskId, { [first]: { action: "cancel" }, [second]: { action: "cancel" } });
    expect(textOf(await client.reaches(taskId, "completed"))).toBe("1 One? 2 decline cancel");
  });

  test("runs again only when all of several questions are answered", { tags: "long" }, async () => {
    const key = newKey();
    const taskId = await client.start("asking_two", { key });
    const answers = answersTo(await client.reaches(taskId, "input_required"), String);
    for (const [name, answer] of Object.entries(answers)) {
      expect(await effectsOf(key)).toEqual(["run"]);
      await client.update(taskId, { [name]: answer });
      // Due work runs immediately.
      await worker.advance(0);
    }
    expect(textOf(await client.reaches(taskId, "completed"))).toBe("Two? Three?");
    expect(await effectsOf(key)).toEqual(["run", "run"]);
  });

  test("asks again under another key after an invalid answer", async () => {
    const taskId = await client.start("asking_again", { key: newKey() });
    const [key = ""] = keysOf(await client.reaches(taskId, "input_required"));
    await client.update(taskId, { [key]: { action: "accept", content: { name: 5 } } });
    const again = await client.reaches(taskId, "input_required");
    expect(keysOf(again)).not.toContain(key);
    expect(JSON.stringify(again.inputRequests)).toContain("Again?");
    let count = 0;
    const text = await client.finish(taskId, () => {
      count += 1;
      return String(count);
    });
    expect(text).toBe("1 2 3");
  });

  test("asks by returning, and has its state in the next run", { tags: "long" }, async () => {
    const taskId = await client.start("asking_by_returning", { key: newKey() });
    expect(await client.finish(taskId)).toBe("2 Round 1?");
    const often = await client.start("asking_by_returning", { key: newKey(), steps: 25 });
    expect(await client.finish(often)).toBe("25 Round 24?");
  });

  test("asks for a URL with an error", async () => {
    const taskId = await client.start("url_first", { key: newKey() });
    const asked = await client.reaches(taskId, "input_required");
    expect(asked.inputRequests).toMatchObject({
      "url-1": { params: { mode: "url", url: "https://example.com/sign-in" } },
    });
    await client.update(taskId, { "url-1": { action: "accept" } });
    expect(textOf(await client.reaches(taskId, "completed"))).toBe("signed in");
  });

  test("stores more than one row can hold, in the journal and in the result", async () => {
    const taskId = await client.start("large", { key: newKey() });
    await client.reaches(taskId, "input_required");
    await worker.evict("McpObject", objectOf(taskId));
    expect((await client.finish(taskId, () => "yes")).length).toBe(700_003);
  });

  test("retries a step with the same key if the step requires it", async () => {
    const key = newKey();
    expect(await client.finish(await client.start("flaky", { key }))).toBe("tried 3 times");
    expect(new Set(await effectsOf(key)).size).toBe(1);
  });

  test("runs as the principal that created it", async () => {
    const alice = client.as({ token: "alice" });
    expect(await alice.finish(await alice.start("whoami", { key: newKey() }))).toBe("alice");
  });

  test("runs with the server of its request if each request has a server, without the request's credentials", async () => {
    const each = await at("/each");
    const headers = { "x-which": "seven", authorization: "Bearer secret" };
    const { taskId } = await each.result("tools/call", { name: "which", arguments: {} }, headers);
    expect(await each.finish(String(taskId))).toBe("seven null");
    expect(JSON.stringify(await worker.storage("EachObject", objectOf(String(taskId))))).not.toContain("secret");
  });
});

describe("the start of a task", () => {
  test("can be in the middle of a call, which asks on the request until then, and in the task afterwards", async () => {
    const key = newKey();
    const asked = await client.call("asking_first", { key });
    expect(asked).toMatchObject({ resultType: "input_required", inputRequests: { first: {} } });
    const inputResponses = { first: { action: "accept", content: { name: "Ada" } } };
    const more = { inputResponses, requestState: asked.requestState };
    const taskId = await client.start("asking_first", { key }, more);
    expect(await client.finish(taskId)).toBe("1 Ada 2 Then?");
    const done = await effectsOf(key);
    // All of one call: what it did on the request is in the journal of the task.
    expect(done.map((each) => each.split("/")[0])).toEqual([done[0]?.split("/")[0], done[0]?.split("/")[0]]);
  });

  test("depends on the handler: a handler that does not request it never becomes a task", async () => {
    expect(await client.call("deciding", { key: "k" })).toMatchObject({ content: [{ text: "decided" }] });
    expect(await client.finish(await client.start("deciding", { key: "k", background: true }))).toBe("decided");
  });

  test("is refused at once for invalid arguments", async () => {
    expect(await client.call("steps", { key: 5 })).toMatchObject({ resultType: "complete", isError: true });
  });

  test("is refused at once for a state that was not sealed for the call", async () => {
    const params = { name: "steps", arguments: { key: "k" }, requestState: "made up" };
    expect(await client.error("tools/call", params)).toMatchObject({ code: -32602 });
  });

  test("is impossible without the tasks option: optional tools run on the request, and others are errors", async () => {
    const without = await at("/without");
    expect(await without.call("steps", { key: newKey() })).toMatchObject({ content: [{ text: "1 2 3" }] });
    expect(await without.call("hold", { key: newKey() })).toMatchObject({ isError: true });
    expect(await without.error("tasks/get", { taskId: "any" })).toMatchObject({ code: -32601 });
  });

  test("is impossible for clients of versions without tasks: optional tools run on the request, and others are errors", async () => {
    const legacy = await LegacyClient.open(client.url, { version: "2025-06-18" });
    expect((await readAnswer(legacy.call("steps", { key: newKey() }))).text).toBe("1 2 3");
    expect((await readAnswer(legacy.call("hold", { key: newKey() }))).text).toBe('Tool "hold" runs only as a task.');
  });
});

describe("an interrupted task", () => {
  test("loses nothing by an eviction while it waits for an answer", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    await client.reaches(taskId, "input_required");
    expect(await worker.evict("McpObject", objectOf(taskId))).toBe(1);
    expect(await client.finish(taskId)).toBe("1 One? 2 Two? Three?");
    expect(await effectsOf(key)).toHaveLength(3);
  });

  test("keeps finished steps, under their keys, when its object is reset while its handler runs", {
    tags: "long",
  }, async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await hasBegun(key);
    await worker.abort("McpObject", objectOf(taskId));
    await release(key);
    expect(await client.finish(taskId)).toBe("1 2");
    expect(await effectsOf(key)).toHaveLength(2);
  });

  test("keeps finished steps, under their keys, after SIGKILL while its handler runs", { tags: "long" }, async () => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await hasBegun(key);
    await worker.restart();
    await release(key);
    expect(await client.finish(taskId)).toBe("1 2");
    expect(await effectsOf(key)).toHaveLength(2);
  });

  test("fails if its handler makes no progress", async () => {
    const taskId = await client.start("poison", { key: newKey() });
    let task: Members = {};
    await until("it is given up", async () => {
      // The object may be lost during this request itself.
      const { messages } = await client.request("tasks/get", { taskId });
      task = (messages.at(-1)?.result ?? {}) as Members;
      await worker.runAlarm("McpObject", objectOf(taskId)).catch((error: unknown) => {
        expect(String(error)).toContain("poison");
      });
      return task.status === "failed";
    });
    expect(task.error).toMatchObject({ code: -32603, data: { reason: "interrupted" } });
  });
});

test("continues in the next run from the step at which a run ended", async () => {
  const sliced = await at("/sliced");
  const key = newKey();
  const taskId = await sliced.start("steps", { key, steps: 5 });
  expect(await sliced.finish(taskId)).toBe("1 2 3 4 5");
  expect(new Set(await effectsOf(key)).size).toBe(5);
  const asking = await sliced.start("asking", { key: newKey() });
  expect(await sliced.finish(asking)).toBe("1 One? 2 Two? Three?");
});

describe("the stored data of a task", () => {
  test("consists of 6 rows, one more for each step, and 6 for each round of questions", async () => {
    const rows = async () => ((await (await fetch(`${worker.origin}/counts`)).json()) as Counts).rowsWritten;
    const finished = async (tool: string, args: Members) => {
      await client.finish(await client.start(tool, { key: newKey(), ...args }));
      return rows();
    };
    // Discards the counts of earlier tasks.
    await rows();
    expect(await finished("steps", { steps: 0 })).toBe(6);
    expect(await finished("steps", { steps: 5 })).toBe(11);
    expect(await finished("asking_by_returning", {})).toBe(6 + 2 * 5);
    expect(await finished("asking_again", {})).toBe(6 + 3 * 6);
  });

  test("is not found after its lifetime even if its alarm has not run", async () => {
    const taskId = await client.start("asking", { key: newKey() });
    await client.reaches(taskId, "input_required");
    const object = objectOf(taskId);
    await fetch(`${worker.origin}/age/${object}/${60 * 60_000}`, { method: "POST" });
    await worker.evict("McpObject", object);
    expect(await client.error("tasks/get", { taskId })).toMatchObject({ code: -32602 });
    expect(await client.error("tasks/cancel", { taskId })).toMatchObject({ code: -32602 });
    expect((await worker.storage("McpObject", object)).keys).not.toEqual({});
  });

  test("is deleted completely when it expires, whatever its status", async () => {
    const completed = await client.start("steps", { key: newKey() });
    await client.finish(completed);
    const waiting = await client.start("asking", { key: newKey() });
    await client.reaches(waiting, "input_required");
    const cancelled = await client.start("hold", { key: newKey() });
    await client.cancel(cancelled);
    await client.reaches(cancelled, "cancelled");
    await worker.advance(60 * 60_000 + 1);
    for (const taskId of [completed, waiting, cancelled]) {
      expect(await client.error("tasks/get", { taskId })).toMatchObject({ code: -32602 });
      const { keys, tables, alarmAtMs } = await worker.storage("McpObject", objectOf(taskId));
      expect([keys, tables, alarmAtMs]).toEqual([{}, {}, undefined]);
    }
  });
});
