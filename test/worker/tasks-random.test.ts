// @module-tag long
/**
 * Random handlers as tasks with random interruptions: SIGKILL, eviction and reset, at any moment. The result equals
 * that of an uninterrupted run; each step has its effect under its key, and repeats it only if it was running when
 * something was lost. For long runs use `npm run long -- replay`; `REPLAY_SEED` and `REPLAY_PATH` repeat a failed run.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { ignoreLogs } from "../harness/logs.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { scripts, scriptsIntoTask } from "../properties/replay-arbitrary.ts";
import { nameOfKey, Person, runStraight, type Straight } from "../properties/replay-person.ts";
import { boundsOf, holds } from "../properties/replay-property.ts";
import { TaskClient } from "./task-client.ts";
import { type Counter, type Happened, type Interruption, RandomRun, startCounter } from "./tasks-random-run.ts";

// workerd logs a reset of an object during a write, which happens at random moments.
ignoreLogs(/aborted by a test/);

const BOUNDS = { ...boundsOf(20, 20_000), runMs: 90_000 };
const ENDPOINTS = { "/mcp": "McpObject", "/sliced": "SlicedObject", "/driven": "DrivenObject" } as const;

let counter: Counter;
let worker: TestWorker;

beforeAll(async () => {
  counter = await startCounter();
  worker = await startWorker({
    entry: "test/worker/fixtures/tasks-random.ts",
    objects: ["McpObject", "SlicedObject", "DrivenObject"],
    workflows: { MCP_TASK_WORKFLOW: "McpTaskWorkflow" },
    bindings: { MCP_KEYS: newKeys(), COUNTER: counter.url },
  });
});
afterAll(async () => {
  await worker?.stop();
  await counter?.stop();
});

const interruptions: fc.Arbitrary<Interruption[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        during: fc.constantFrom("create" as const, "update" as const, "anything" as const, "anything" as const),
        afterMs: fc.nat(120),
        how: fc.constantFrom("killed" as const, "reset" as const),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        during: fc.constant("wait" as const),
        afterMs: fc.nat(5),
        how: fc.constant("evicted" as const),
      }),
    },
  ),
  { maxLength: 3 },
);
const tools = fc.oneof(
  { weight: 3, arbitrary: scripts.map((script) => ({ tool: "run", script })) },
  { weight: 1, arbitrary: scriptsIntoTask.map((script) => ({ tool: "run_later", script })) },
);
const paths = fc.constantFrom("/mcp" as const, "/mcp" as const, "/sliced" as const, "/driven" as const);

const distinct = (values: readonly string[]) => [...new Set(values)].sort();

/** The effects of one attempt by the names of their steps. */
function namesOf(attempt: string, what: "done" | "failed"): string[] {
  const own = counter.happened.filter((each) => each.what === what && each.attempt === attempt);
  return distinct(own.map((each) => nameOfKey("key" in each ? each.key : "")));
}

/**
 * Counts repeated steps by key, and checks that each was repeated because a run was lost that did not know its result.
 */
function repeatsOf(happened: readonly Happened[]): number {
  let repeats = 0;
  /** The index at which each run first appears. */
  const beginnings = new Map<string, number>();
  const losses: { readonly from: number; to: number }[] = [];
  const steps = new Map<string, { readonly run: string; isKnown: boolean }>();
  for (const [at, each] of happened.entries()) {
    const loss = losses.at(-1);
    if (each.what === "interrupted") losses.push({ from: at, to: Number.POSITIVE_INFINITY });
    else if (each.what !== "over") {
      const { what, run, attempt, key } = each;
      const id = `${attempt} ${key}`;
      const before = steps.get(id);
      const beginning = beginnings.get(run) ?? at;
      beginnings.set(run, beginning);
      if (what === "known" && before?.run === run) before.isKnown = true;
      if (what !== "done") continue;
      if (before) {
        repeats += 1;
        const isLost = losses.some(({ from, to }) => from < beginning && to > (beginnings.get(before.run) ?? 0));
        expect({ isKnown: before.isKnown, isLost }, `done again: ${id}`).toEqual({ isKnown: false, isLost: true });
      }
      steps.set(id, { run, isKnown: false });
    } else if (loss) loss.to = at;
  }
  return repeats;
}

function judge(run: RandomRun, text: string, straight: Straight): number {
  expect(text).toBe(straight.text);
  expect(namesOf(run.attempt, "done")).toEqual(distinct(straight.done));
  expect(namesOf(run.attempt, "failed")).toEqual(distinct(straight.failed));
  const keys = counter.happened.flatMap((each) =>
    "key" in each && each.attempt === run.attempt ? [each.key.split("/")[0]] : [],
  );
  expect(new Set(keys).size).toBeLessThanOrEqual(1);
  // An attempt that its client lost must not do anything beyond the script.
  for (const attempt of run.abandoned) {
    expect(straight.done).toEqual(expect.arrayContaining(namesOf(attempt, "done")));
  }
  return repeatsOf(counter.happened);
}

test("a random handler returns the same result as a task as when it is not interrupted, and repeats only what was running", {
  timeout: BOUNDS.timeoutMs,
}, async () => {
  const tally = { runs: 0, interruptions: 0, effects: 0, repeats: 0, abandoned: 0 };
  await holds(
    fc.asyncProperty(tools, interruptions, paths, fc.nat(1_000), async ({ tool, script }, planned, path, seed) => {
      const tap: HttpTap = await startHttpTap(worker.url(path));
      const from = counter.happened.length;
      try {
        const surroundings = { worker, binding: ENDPOINTS[path], counter, client: new TaskClient(tap.url) };
        const run = new RandomRun(surroundings, planned, seed);
        const text = await run.run(tool, script);
        tally.repeats = judge(run, text, await runStraight(script, new Person(seed)));
        tap.oracle.expectClean();
        tally.runs += 1;
        tally.interruptions += run.interruptions;
        tally.abandoned += run.abandoned.length;
        tally.effects += counter.happened.slice(from).filter(({ what }) => what === "done").length;
      } finally {
        await tap.close();
      }
    }),
    BOUNDS,
    // Each run takes seconds, and interruptions differ between runs, so shrinking would find nothing in the available
    // time.
    { endOnFailure: true },
  );
  if (BOUNDS.runs > 20) console.log(JSON.stringify(tally));
});
