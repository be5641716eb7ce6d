/**
 * Tasks whose Worker is killed (SIGKILL) at random points until each task is finished. Effects are checked by the key
 * of their step: a step that was running at a kill is repeated with the same key; a finished one is not.
 */
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { newKeys } from "../../src/testing/keys.ts";
import { OwnTaskClient, textOf as ownTextOf } from "../worker/legacy-task-client.ts";
import { answersTo, TaskClient, textOf } from "../worker/task-client.ts";
import { Random } from "./random.ts";

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** Number of tasks started between two kills. */
  readonly tasksPerKill: number;
  /** The clients that create the tasks. @default clients of the extension */
  readonly version?: "2025-11-25";
  readonly report?: (text: string) => void;
}

export interface KillTally {
  kills: number;
  tasks: number;
  finished: number;
  /** Number of steps, by key, and of repetitions of steps that were running at a kill. */
  effects: number;
  repeats: number;
  /** Descriptions of what must not happen. */
  readonly violations: string[];
}

interface Begun {
  readonly taskId: string;
  readonly key: string;
  readonly tool: "steps" | "asking";
  readonly steps: number;
}

const ENTRY = "test/worker/fixtures/tasks.ts";
const OBJECTS = { MCP: "McpObject", SLICED: "SlicedObject", EACH: "EachObject", EFFECTS: "Effects" };
/** A task finishes long before, including kills. */
const DEADLINE_MS = 60_000;

export async function killTasks({ kills, seed, tasksPerKill, version, report }: KillOptions): Promise<KillTally> {
  const tally: KillTally = { kills: 0, tasks: 0, finished: 0, effects: 0, repeats: 0, violations: [] };
  const random = new Random(seed);
  const worker = await startWorker({ entry: ENTRY, objects: OBJECTS, bindings: { MCP_KEYS: newKeys() } });
  try {
    for (let round = 0; round < kills; round += 1) {
      const client = version
        ? await OwnTaskClient.open(`${worker.origin}/mcp`)
        : new TaskClient(`${worker.origin}${random.chance(0.3) ? "/sliced" : "/mcp"}`);
      const begun = await Promise.all(Array.from({ length: tasksPerKill }, () => begin(client, random)));
      tally.tasks += begun.length;
      // Clients poll and answer all the time; requests that fail while the Worker is down are repeated.
      const finishing = begun.map((task) => finish(client, task));
      await pause(random.int(0, 250));
      await worker.restart();
      tally.kills += 1;
      for (const [at, text] of (await Promise.all(finishing)).entries()) await judge(worker, begun[at], text, tally);
      report?.(
        `kill ${round + 1}: ${tally.finished} of ${tally.tasks} tasks finished, ${tally.repeats} steps repeated`,
      );
    }
  } finally {
    await worker.stop();
  }
  return tally;
}

async function begin(client: TaskClient | OwnTaskClient, random: Random): Promise<Begun> {
  const key = crypto.randomUUID();
  const tool = random.chance(0.5) ? "steps" : "asking";
  const steps = tool === "steps" ? random.int(1, 8) : 3;
  const args = tool === "steps" ? { key, steps, pauseMs: random.int(0, 20), withinMs: random.int(0, 40) } : { key };
  return { taskId: await client.start(tool, args), key, tool, steps };
}

/** Returns the task's text, or a description of its failure. */
async function finish(client: TaskClient | OwnTaskClient, { taskId }: Begun): Promise<string> {
  const deadline = Date.now() + DEADLINE_MS;
  let last = "nothing";
  while (Date.now() < deadline) {
    try {
      if (client instanceof OwnTaskClient) {
        const end = (await client.finish(taskId)).at(-1) ?? {};
        if (end.result !== undefined) return ownTextOf([end]);
        last = JSON.stringify(end);
        continue;
      }
      const task = await client.get(taskId);
      if (task.status === "completed") return textOf(task);
      if (task.status === "input_required")
        await client.update(
          taskId,
          answersTo(task, (message) => message),
        );
      else if (task.status !== "working") return JSON.stringify(task);
      last = JSON.stringify(task);
    } catch (error) {
      last = String(error);
    }
    await pause(10);
  }
  return `not done in time; at last: ${last}`;
}

async function judge(worker: TestWorker, begun: Begun | undefined, text: string, tally: KillTally): Promise<void> {
  if (!begun) return;
  const { key, tool, steps, taskId } = begun;
  const done = (await (await fetch(`${worker.origin}/effects/${key}`)).json()) as string[];
  const keys = new Set(done);
  tally.effects += keys.size;
  tally.repeats += done.length - keys.size;
  const shape = tool === "steps" ? /^\d+( \d+)*$/ : /^\d+ One\? \d+ Two\? Three\?$/;
  if (!shape.test(text)) tally.violations.push(`task ${taskId} of ${tool}: ${text}`);
  else tally.finished += 1;
  if (keys.size !== steps) tally.violations.push(`task ${taskId} of ${tool}: ${keys.size} effects of ${steps}`);
  // One kill interrupts one step, or the two concurrent ones of this tool.
  if (done.length - keys.size > 2)
    tally.violations.push(`task ${taskId} of ${tool}: steps repeated: ${done.join(", ")}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
