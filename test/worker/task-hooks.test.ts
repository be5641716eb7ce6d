// @module-tag long
/** The author's hooks for tasks: each run, the end, sampling requests, and forms that ask for a secret. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { answersTo, keysOf, TaskClient, textOf } from "./task-client.ts";

let worker: TestWorker;
let tap: HttpTap;
let client: TaskClient;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/task-runs.ts",
    objects: { MCP: "McpObject", SLICED: "SlicedObject", NOTES: "Notes" },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/mcp`);
  client = new TaskClient(tap.url);
});
afterEach(async () => {
  tap.oracle.expectClean();
  await tap.close();
});

const newKey = () => crypto.randomUUID();
const heardOf = async (key: string) => (await (await fetch(`${worker.origin}/heard/${key}`)).json()) as Members[];
const says = async (key: string) => (await heardOf(key)).map(({ say }) => say);
/** Returns the records about a task once there are `count`. */
async function heard(key: string, count: number): Promise<Members[]> {
  await until(`${count} things are said of ${key}`, async () => (await heardOf(key)).length >= count);
  return heardOf(key);
}
const answers = (key: string, answer: Members): Members => ({ [key]: answer });

describe("an around hook", () => {
  test("wraps the request that creates a task, and each run of its handler", async () => {
    const key = newKey();
    const taskId = await client.start("heard", { key });
    const asked = await client.reaches(taskId, "input_required");
    await client.update(
      taskId,
      answersTo(asked, () => "Ada"),
    );
    const done = await client.reaches(taskId, "completed");
    expect(textOf(done)).toBe("Ada");
    // The hook added this to the result of the last run.
    expect((done.result as Members)._meta).toMatchObject({ "example.com/seen": true });
    const all = await heard(key, 10);
    const who = "anonymous,2026-07-28";
    const { requestId } = all[0] as { requestId: unknown };
    expect(all).toMatchObject([
      { say: "before", tool: "heard", requestId, who },
      { say: "after", result: "task" },
      { say: "end", tool: "heard" },
      { say: "before", tool: "heard", requestId, who, taskId },
      { say: "handler", taskId },
      { say: "after", result: "input_required", taskId },
      { say: "before", taskId },
      { say: "handler", taskId },
      { say: "after", result: "complete", taskId },
      { say: "end", tool: "heard", taskId, taskStatus: "completed", outcome: "ok" },
    ]);
    expect(all[0]).not.toHaveProperty("taskId");
  });

  test("has no taskId in a call that is not a task, and neither has the handler", async () => {
    const key = newKey();
    await client.as({ capabilities: {} }).call("heard", { key });
    const handled = (await heard(key, 2)).filter(({ say }) => say === "handler");
    expect(handled).toHaveLength(1);
    expect(handled[0]).not.toHaveProperty("taskId");
  });

  test('gets the status "working" for a run that ends until its next try', async () => {
    const key = newKey();
    const taskId = await client.start("flaky", { key, fails: 1 });
    const runs = (await heard(key, 5)).filter((each) => each.taskId === taskId);
    expect(runs).toMatchObject([{ say: "before" }, { say: "after", result: "task" }]);
    await client.cancel(taskId);
  });

  test("may end a task with a result or with its own error", async () => {
    const result = await client.start("heard", { key: newKey(), around: "answers" });
    expect(textOf(await client.reaches(result, "completed"))).toBe("the hook's own");
    const error = await client.start("heard", { key: newKey(), around: "refuses" });
    expect(await client.reaches(error, "failed")).toMatchObject({ error: { code: 4711 } });
  });

  test.each(["breaks", "nothing"])('makes the task fail with the result "%s"', async (around) => {
    const key = newKey();
    const taskId = await client.start("heard", { key, around });
    const { error } = (await client.reaches(taskId, "failed")) as { error: { message: string; code: number } };
    expect(error.code).toBe(-32603);
    expect(error.message).not.toMatch(/nobody reads this|watch/);
    const why = around === "breaks" ? "nobody reads this" : "around hook watch returned no result";
    expect((await heardOf("errors")).map(({ say }) => say)).toContainEqual(expect.stringContaining(why));
    expect(await says(key)).not.toContain("handler");
  });
});

describe("onRequestEnd for tasks", () => {
  const endOf = async (key: string, count: number) => {
    const all = (await heard(key, count)).filter(({ say }) => say === "end");
    return all.filter(({ taskId }) => taskId !== undefined);
  };

  test("is called once for a failed task, with its code and duration", async () => {
    const key = newKey();
    const taskId = await client.start("failing", { key });
    await client.reaches(taskId, "failed");
    const [end, ...more] = await endOf(key, 4);
    expect(more).toEqual([]);
    expect(end).toMatchObject({ taskId, taskStatus: "failed", outcome: "error", errorCode: 4712, tool: "failing" });
    expect(end?.durationMs).toBeGreaterThanOrEqual(0);
  });

  test("is called once for a cancelled task, however often it is cancelled", async () => {
    const key = newKey();
    const taskId = await client.start("heard", { key });
    await client.reaches(taskId, "input_required");
    await client.cancel(taskId);
    await client.cancel(taskId);
    await client.reaches(taskId, "cancelled");
    expect(await endOf(key, 7)).toMatchObject([{ taskId, taskStatus: "cancelled", outcome: "cancelled" }]);
  });

  test("is called for a task that expired before it finished, and not again for a finished task", async () => {
    await using other = await startWorker({
      entry: "test/worker/fixtures/task-runs.ts",
      objects: { MCP: "McpObject", SLICED: "SlicedObject", NOTES: "Notes" },
    });
    const [open, done] = [newKey(), newKey()];
    const elsewhere = client.as({}, other.url("/mcp"));
    const endsOf = async (key: string) => {
      const all = (await (await fetch(`${other.origin}/heard/${key}`)).json()) as Members[];
      return all.filter(({ say, taskId }) => say === "end" && taskId !== undefined);
    };
    const waiting = await elsewhere.start("heard", { key: open });
    await elsewhere.reaches(waiting, "input_required");
    expect(await elsewhere.finish(await elsewhere.start("heard", { key: done }))).toBe("Who?");
    await other.advance(24 * 60 * 60_000);
    await until("it is told", async () => (await endsOf(open)).length > 0);
    expect(await endsOf(open)).toMatchObject([{ taskId: waiting, taskStatus: "expired", outcome: "error" }]);
    expect(await endsOf(done)).toHaveLength(1);
    // The tap of this test needs an exchange to check.
    await client.call("heard", { key: 5 });
  });
});

describe("onSample for tasks", () => {
  const MODEL = { role: "assistant", model: "m-1", content: { type: "text", text: "hi" } };
  const soFar = async () => (await heardOf("samples")).length;
  const since = async (count: number, tool: string) => {
    await until("it is told", async () => (await heardOf("samples")).length > count);
    return (await heardOf("samples")).slice(count).filter((each) => each.tool === tool);
  };

  test.each([
    ["sampling", 9, "m-1"],
    ["sampling_by_returning", 8, "sampled"],
  ])("is called once for an answer to a request of %s", async (tool, maxTokens, text) => {
    const count = await soFar();
    const taskId = await client.start(tool, { key: newKey() });
    const [key = ""] = keysOf(await client.reaches(taskId, "input_required"));
    expect(await soFar()).toBe(count);
    await client.update(taskId, answers(key, MODEL));
    expect(textOf(await client.reaches(taskId, "completed"))).toBe(text);
    const [record, ...more] = await since(count, tool);
    expect([record, more]).toMatchObject([
      { outcome: "answered", maxTokens, model: "m-1", count: expect.any(Number) },
      [],
    ]);
    expect(record?.durationMs).toBeGreaterThanOrEqual(0);
  });

  test("is called for a request that was cancelled with its task", async () => {
    const count = await soFar();
    const taskId = await client.start("sampling", { key: newKey() });
    await client.reaches(taskId, "input_required");
    await client.cancel(taskId);
    expect(await since(count, "sampling")).toMatchObject([{ outcome: "cancelled", maxTokens: 9 }]);
  });
});

test("a form of a task that asks for a secret is reported once for its tool", async () => {
  for (let times = 0; times < 2; times += 1) {
    const taskId = await client.start("secret", { key: newKey() });
    await client.reaches(taskId, "input_required");
    await client.cancel(taskId);
  }
  const reports = (await heardOf("errors")).filter(({ say }) => String(say).includes("looks like a secret"));
  expect(reports).toMatchObject([{ say: expect.stringMatching(/tool "secret".*"apiKey"/) }]);
});
