/**
 * Tasks run by a Workflow: the same results as by alarm, whatever is lost; one instance per task, which ends with it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { useTaps } from "./taps.ts";
import { answersTo, TaskClient, textOf } from "./task-client.ts";

let worker: TestWorker;
const tapped = useTaps();
let client: TaskClient;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/task-workflows.ts",
    objects: { MCP: "McpObject", SLICED: "SlicedObject", EFFECTS: "Effects" },
    workflows: { MCP_TASK_WORKFLOW: "McpTaskWorkflow", SLICED_WORKFLOW: "SlicedWorkflow" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  client = await at("/mcp");
});

const at = async (path: string) => new TaskClient(await tapped(worker.origin + path));

const newKey = () => crypto.randomUUID();
const effectsOf = async (key: string) => (await (await fetch(worker.url(`/effects/${key}`))).json()) as string[];
const release = (key: string) => fetch(worker.url(`/release/${key}`), { method: "POST" });
const objectOf = (taskId: string) => Buffer.from(taskId, "base64url").toString("hex");
const hasBegun = (key: string) => until("the handler has begun", async () => (await effectsOf(key)).length > 0);

async function instanceOf(taskId: string, binding = "MCP_TASK_WORKFLOW"): Promise<Members> {
  return (await (await fetch(worker.url(`/instances/${binding}/task-${taskId}`))).json()) as Members;
}

const becomes = (taskId: string, ...statuses: string[]) =>
  until(`the instance is ${statuses.join(" or ")}`, async () =>
    statuses.includes(String((await instanceOf(taskId)).status)),
  );

const WRANGLER_TOML = `
name = "flows"
main = "${join(import.meta.dirname, "fixtures/task-workflows.ts")}"
compatibility_date = "2026-10-20"
compatibility_flags = ["enable_request_signal"]
[[durable_objects.bindings]]
name = "EFFECTS"
class_name = "Effects"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["McpObject", "Effects"]
[[workflows]]
name = "mcp-tasks"
binding = "MCP_TASK_WORKFLOW"
class_name = "McpTaskWorkflow"
`;

test("the Workflow of a wrangler configuration runs tasks", async () => {
  const folder = mkdtempSync(join(tmpdir(), "workflows-"));
  try {
    const wrangler = join(folder, "wrangler.toml");
    writeFileSync(wrangler, WRANGLER_TOML);
    await using own = await startWorker({ wrangler });
    const caller = new TaskClient(own.url("/mcp"));
    const taskId = await caller.start("asking", { key: newKey() });
    expect(await caller.finish(taskId)).toBe("1 One? 2 Two? Three?");
    const instance = await (await fetch(own.url(`/instances/MCP_TASK_WORKFLOW/task-${taskId}`))).json();
    expect(instance).toMatchObject({ status: expect.stringMatching(/running|complete/) });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("a task run by a Workflow", () => {
  test("asks in the middle, runs each step once, and its instance ends with it", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    expect(await client.finish(taskId)).toBe("1 One? 2 Two? Three?");
    expect(await effectsOf(key)).toHaveLength(2);
    await becomes(taskId, "complete");
  });

  test("is visible in its instance as one step per run, with its result", async () => {
    const sliced = await at("/sliced");
    const key = newKey();
    const taskId = await sliced.start("asking", { key });
    expect(await sliced.finish(taskId)).toBe("1 One? 2 Two? Three?");
    await until(
      "the instance is over",
      async () => (await instanceOf(taskId, "SLICED_WORKFLOW")).status === "complete",
    );
    const { output, __LOCAL_DEV_STEP_OUTPUTS: outputs } = await instanceOf(taskId, "SLICED_WORKFLOW");
    expect(output).toEqual({ status: "completed" });
    const steps = (outputs as { steps?: string[] }[]).map((each) => each.steps ?? "event");
    expect(steps.flat()).toEqual(expect.arrayContaining(["step first.1", "step second.1", "event"]));
    expect(steps.filter((each) => each.includes("step first.1"))).toHaveLength(1);
  });

  test("waits for answers with no alarm except for its expiry", async () => {
    const taskId = await client.start("asking", { key: newKey() });
    await client.reaches(taskId, "input_required");
    const { alarmAtMs } = await worker.storage("McpObject", objectOf(taskId));
    expect(alarmAtMs).toBeGreaterThan(Date.now() + 60 * 60_000);
  });

  test.each(["reset", "killed"])("repeats no finished step if it is %s while its handler runs", async (how) => {
    const key = newKey();
    const taskId = await client.start("hold", { key });
    await hasBegun(key);
    if (how === "killed") await worker.restart();
    else await worker.abort("McpObject", objectOf(taskId));
    await release(key);
    expect(await client.finish(taskId)).toBe("1 2");
    expect(await effectsOf(key)).toHaveLength(2);
  });

  test("accepts the answer and continues after SIGKILL while it waits", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    const asked = await client.reaches(taskId, "input_required");
    await worker.restart();
    await client.update(
      taskId,
      answersTo(asked, (message) => message),
    );
    await worker.restart();
    expect(await client.finish(taskId)).toBe("1 One? 2 Two? Three?");
    expect(await effectsOf(key)).toHaveLength(2);
  });

  test("ends its instance when it is cancelled while it works or waits, and runs no more code", async () => {
    const keys = [newKey(), newKey()] as const;
    const [working, waiting] = await Promise.all([
      client.start("hold", { key: keys[0] }),
      client.start("asking", { key: keys[1] }),
    ]);
    await hasBegun(keys[0]);
    await client.reaches(waiting, "input_required");
    await client.cancel(working);
    // A handler that notices the cancellation at once completes its instance before it can be terminated.
    await becomes(working, "terminated", "complete");
    await client.cancel(waiting);
    await becomes(waiting, "terminated");
    for (const taskId of [working, waiting]) expect(await client.get(taskId)).toMatchObject({ status: "cancelled" });
    await release(keys[0]);
    expect(await effectsOf(keys[0])).toHaveLength(1);
  });

  test("has a result if it throws, and is not run again", async () => {
    const taskId = await client.start("exception", { key: newKey() });
    const task = await client.reaches(taskId, "completed");
    expect(task.result).toMatchObject({ isError: true });
    expect(textOf(task)).not.toContain("nobody reads this");
    await becomes(taskId, "complete");
  });

  test("continues although its instance was lost", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    const asked = await client.reaches(taskId, "input_required");
    await becomes(taskId, "running");
    await fetch(worker.url(`/instances/task-${taskId}`), { method: "DELETE" });
    await becomes(taskId, "terminated");
    await client.update(
      taskId,
      answersTo(asked, (message) => message),
    );
    expect(await client.finish(taskId)).toBe("1 One? 2 Two? Three?");
    expect(await effectsOf(key)).toHaveLength(2);
  });
});

test("a second request to do the work joins the run in progress", async () => {
  const key = newKey();
  const taskId = await client.start("hold", { key });
  await hasBegun(key);
  const work = async () => (await fetch(worker.url(`/run-task/${objectOf(taskId)}`), { method: "POST" })).json();
  const both = [work(), work()];
  // They have reached the object once it has answered later ones.
  for (let count = 0; count < 5; count += 1) await client.get(taskId);
  await release(key);
  expect(await Promise.all(both)).toMatchObject([{ status: "completed" }, { status: "completed" }]);
  expect(await effectsOf(key)).toHaveLength(2);
});
