// @module-tag long
/** Runs of tasks: steps that are retried, how long a task is kept, and the hooks. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Counts } from "../costs/counted.ts";
import { until } from "../http/wire.ts";
import { useTaps } from "./taps.ts";
import { answersTo, keysOf, TaskClient, textOf } from "./task-client.ts";

const PROGRAM = {
  entry: "test/worker/fixtures/task-runs.ts",
  objects: { MCP: "McpObject", SLICED: "SlicedObject", NOTES: "Notes" },
};

let worker: TestWorker;
const tapped = useTaps();
let client: TaskClient;

beforeAll(async () => {
  worker = await startWorker(PROGRAM);
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  client = await clientOf(worker);
});

const clientOf = async ({ origin }: TestWorker, path = "/mcp") => new TaskClient(await tapped(origin + path));

const newKey = () => crypto.randomUUID();
const notesOf = async (name: string, { origin } = worker) =>
  (await (await fetch(`${origin}/notes/${encodeURIComponent(name)}`)).json()) as string[];
const objectOf = (taskId: string) => Buffer.from(taskId, "base64url").toString("hex");
/** The numbers of the tries of a step, in order. */
const triesOf = async (key: string, step: string, where = worker) =>
  (await notesOf(key, where))
    .filter((line) => line.includes(`/${step}.1 `))
    .map((line) => Number(line.split(" ").at(-1)));

/** How far the clock was advanced. */
let aheadMs = 0;
async function pass(ms: number): Promise<void> {
  aheadMs += ms;
  await worker.advance(ms);
}

/** Waits for a condition. The runtime's own clock is behind after ours was advanced, so due alarms are run by hand. */
const reached = (what: string, isSo: () => Promise<boolean>) =>
  until(what, async () => {
    await worker.advance(0);
    return isSo();
  });
const tried = (key: string, step: string, tries: number) =>
  reached(`try ${tries} of ${step} was made`, async () => (await triesOf(key, step)).length === tries);
/** Waits until the object has nothing to do before its alarm. */
const asleep = (taskId: string) =>
  reached("the object waits for its alarm", async () => {
    const { alarmAtMs = 0 } = await worker.storage("McpObject", objectOf(taskId));
    return alarmAtMs > Date.now() + aheadMs + 5_000;
  });
const stands = (taskId: string, status: string) =>
  reached(`the task is ${status}`, async () => (await client.get(taskId)).status === status);
const textWhenDone = async (taskId: string) => {
  await stands(taskId, "completed");
  return textOf(await client.get(taskId));
};

describe("a step of a task that waits for its next try", () => {
  test("lets its object hibernate, which wakes when the try is due", async () => {
    const key = newKey();
    const taskId = await client.start("flaky", { key });
    for (const tries of [1, 2]) {
      await tried(key, "flaky", tries);
      await asleep(taskId);
      expect(await client.get(taskId)).toMatchObject({ status: "working" });
      expect(await worker.evict("McpObject", objectOf(taskId))).toBe(1);
      await pass(60_000);
    }
    expect(await textWhenDone(taskId)).toBe("1 flaky 3");
    expect(await triesOf(key, "flaky")).toEqual([1, 2, 3]);
    // All tries have one key.
    expect(new Set((await notesOf(key)).map((line) => line.split(" ")[0])).size).toBe(1);
    expect(await notesOf(`${key} before`)).toHaveLength(1);
  });

  test("is not tried before it is due, whatever wakes the object", async () => {
    const key = newKey();
    const taskId = await client.start("flaky", { key });
    await tried(key, "flaky", 1);
    await asleep(taskId);
    await worker.runAlarm("McpObject", objectOf(taskId));
    await asleep(taskId);
    await pass(1_000);
    expect(await triesOf(key, "flaky")).toEqual([1]);
    await pass(60_000);
    await tried(key, "flaky", 2);
  });

  test("survives SIGKILL, with the number of its tries", async () => {
    const key = newKey();
    const taskId = await client.start("flaky", { key });
    await tried(key, "flaky", 1);
    await asleep(taskId);
    await worker.restart();
    await pass(60_000);
    await tried(key, "flaky", 2);
    await asleep(taskId);
    await worker.restart();
    await pass(60_000);
    expect(await textWhenDone(taskId)).toBe("1 flaky 3");
    expect(await triesOf(key, "flaky")).toEqual([1, 2, 3]);
  });

  test("ends when the task expires or is cancelled, without another try", async () => {
    const [cancelled, expired] = [newKey(), newKey()];
    const taskId = await client.start("flaky", { key: cancelled });
    await tried(cancelled, "flaky", 1);
    const late = await client.start("flaky", { key: expired, waitMs: 48 * 60 * 60_000 });
    await tried(expired, "flaky", 1);
    await asleep(taskId);
    await asleep(late);
    await client.cancel(taskId);
    await pass(60_000);
    expect(await client.get(taskId)).toMatchObject({ status: "cancelled" });
    expect(await client.get(late)).toMatchObject({ status: "working" });
    await pass(24 * 60 * 60_000);
    expect(await client.error("tasks/get", { taskId: late })).toMatchObject({ code: -32602 });
    expect([await triesOf(cancelled, "flaky"), await triesOf(expired, "flaky")]).toEqual([[1], [1]]);
  });
});

describe("tries of a task's step", () => {
  test("count the failed tries if the process is killed during one, which is made again", async () => {
    // With an unmodified clock, so that the runtime itself repeats the alarm.
    await using fresh = await startWorker(PROGRAM);
    const other = await clientOf(fresh);
    const key = newKey();
    const tries = async () => triesOf(key, "killed", fresh);
    const taskId = await other.start("killed", { key, fails: 3 });
    await until("its second try is running", async () => (await tries()).length === 2);
    await fresh.restart();
    expect(await other.finish(taskId)).toBe("killed 4");
    expect(await tries()).toEqual([1, 2, 2, 3, 4]);
  });

  test("leave one more try to each run that reaches the step again after they were used up", async () => {
    const key = newKey();
    const taskId = await client.start("caught", { key, fails: 9, retries: 1 });
    await tried(key, "caught", 1);
    await asleep(taskId);
    await pass(60_000);
    await stands(taskId, "input_required");
    expect(await triesOf(key, "caught")).toEqual([1, 2]);
    await client.update(
      taskId,
      answersTo(await client.get(taskId), () => "on"),
    );
    expect(await textWhenDone(taskId)).toBe("Error: try 3 of caught failed, on");
    expect(await triesOf(key, "caught")).toEqual([1, 2, 3]);
  });

  test("do not delay the steps beside it", async () => {
    const key = newKey();
    const taskId = await client.start("beside", { key });
    await tried(key, "one", 1);
    await tried(key, "two", 1);
    await asleep(taskId);
    expect(await notesOf(`${key} more`)).toEqual(["a", "b", "c"]);
    await pass(60_000);
    await tried(key, "one", 2);
    await asleep(taskId);
    await pass(60_000);
    expect(await textWhenDone(taskId)).toBe("one 3, 123, two 2");
    expect([await triesOf(key, "one"), await triesOf(key, "two")]).toEqual([
      [1, 2, 3],
      [1, 2],
    ]);
    expect(await notesOf(`${key} more`)).toEqual(["a", "b", "c"]);
  });

  test("continue if runs end because of their time limit", async () => {
    const sliced = await clientOf(worker, "/sliced");
    const key = newKey();
    const taskId = await sliced.start("beside", { key, fails: 1 });
    await reached("the steps beside are done", async () => (await notesOf(`${key} more`)).length === 3);
    await reached("the object waits for its alarm", async () => {
      const { alarmAtMs = 0 } = await worker.storage("SlicedObject", objectOf(taskId));
      return alarmAtMs > Date.now() + aheadMs + 5_000;
    });
    await pass(60_000);
    await reached("it is done", async () => (await sliced.get(taskId)).status === "completed");
    expect(textOf(await sliced.get(taskId))).toBe("one 2, 123, two 2");
    expect([await triesOf(key, "one"), await notesOf(`${key} more`)]).toEqual([
      [1, 2],
      ["a", "b", "c"],
    ]);
  });

  test("cost four rows if they end a run: the try, the end of its run, the alarm, and the next run", async () => {
    const rows = async () => ((await (await fetch(`${worker.origin}/counts`)).json()) as Counts).rowsWritten;
    const key = newKey();
    const plain = await client.start("flaky", { key: newKey(), fails: 0 });
    await textWhenDone(plain);
    await rows();
    await textWhenDone(await client.start("flaky", { key: newKey(), fails: 0 }));
    const without = await rows();
    const taskId = await client.start("flaky", { key, fails: 1 });
    await tried(key, "flaky", 1);
    await asleep(taskId);
    await pass(60_000);
    await textWhenDone(taskId);
    expect((await rows()) - without).toBe(4);
  });
});

describe("a question beside a step that waits for its next try", () => {
  test("is asked meanwhile, and both continue independently if the answer comes first", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    await stands(taskId, "input_required");
    await client.update(
      taskId,
      answersTo(await client.get(taskId), () => "Ada"),
    );
    await asleep(taskId);
    expect(await client.get(taskId)).toMatchObject({ status: "working" });
    expect(await triesOf(key, "flaky")).toEqual([1]);
    await pass(60_000);
    await tried(key, "flaky", 2);
    await asleep(taskId);
    await pass(60_000);
    expect(await textWhenDone(taskId)).toBe("flaky 3, Ada");
  });

  test("keeps waiting under its key if the tries come first", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key });
    await stands(taskId, "input_required");
    const asked = keysOf(await client.get(taskId));
    for (const tries of [2, 3]) {
      await asleep(taskId);
      await pass(60_000);
      await tried(key, "flaky", tries);
    }
    await asleep(taskId);
    const task = await client.get(taskId);
    expect([task.status, keysOf(task)]).toEqual(["input_required", asked]);
    await client.update(
      taskId,
      answersTo(task, () => "Ada"),
    );
    expect(await textWhenDone(taskId)).toBe("flaky 3, Ada");
    expect(await triesOf(key, "flaky")).toEqual([1, 2, 3]);
  });

  test("is not asked again if it is answered during the next try", async () => {
    const key = newKey();
    const taskId = await client.start("asking", { key, withinMs: 300 });
    await stands(taskId, "input_required");
    const task = await client.get(taskId);
    await asleep(taskId);
    // The alarm ends with the run, so it is not awaited here.
    const passing = pass(60_000);
    await until("the next try is running", async () => (await triesOf(key, "flaky")).length === 2);
    await client.update(
      taskId,
      answersTo(task, () => "Ada"),
    );
    await passing;
    await asleep(taskId);
    const later = await client.get(taskId);
    expect([later.status, keysOf(later)]).toEqual(["working", []]);
    await pass(60_000);
    expect(await textWhenDone(taskId)).toBe("flaky 3, Ada");
  });
});

test("a tool's own taskTtlMs is the lifetime of its tasks only", async () => {
  const brief = await client.start("brief", { key: newKey() });
  await stands(brief, "input_required");
  const other = await client.start("flaky", { key: newKey() });
  expect(await client.get(brief)).toMatchObject({ ttlMs: 10 * 60_000 });
  expect(await client.get(other)).toMatchObject({ ttlMs: 24 * 60 * 60_000 });
  await pass(10 * 60_000);
  expect(await client.error("tasks/get", { taskId: brief })).toMatchObject({ code: -32602 });
  expect((await worker.storage("McpObject", objectOf(brief))).keys).toEqual({});
  expect(await client.get(other)).toMatchObject({ taskId: other });
});
