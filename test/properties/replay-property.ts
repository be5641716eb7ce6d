/**
 * How properties of random handlers are checked. `REPLAY_RUNS` says how many handlers, `REPLAY_SEED` and `REPLAY_PATH`
 * repeat what failed, as a failure prints them.
 */
import * as fc from "fast-check";
import { scripts } from "./replay-arbitrary.ts";
import type { Case } from "./replay-drive.ts";
import examples from "./replay-examples.json" with { type: "json" };

const { REPLAY_RUNS, REPLAY_SEED, REPLAY_PATH } = process.env;

const RUN_MS = 30_000;

/** Cases that failed once. They run first, each time. */
export const failedOnce = examples as readonly Case[];

/** Any handler, any person, any client. */
export const cases: fc.Arbitrary<Case> = fc.record({
  script: scripts,
  personSeed: fc.nat(1_000),
  choices: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 }),
});

export interface Bounds {
  readonly runs: number;
  /** Milliseconds one run may take: many times what it does take. */
  readonly runMs: number;
  /** Milliseconds for all runs, shrinking included. */
  readonly forMs: number;
  /** What the runner of the test is told: more, so that the property ends by itself and says what it found. */
  readonly timeoutMs: number;
}

/** Bounds that follow the number of runs. @param runs How many where `REPLAY_RUNS` does not say. */
export function boundsOf(runs: number, msEach: number): Bounds {
  const wanted = Number(REPLAY_RUNS ?? runs);
  const forMs = 2 * RUN_MS + wanted * msEach;
  return { runs: wanted, runMs: RUN_MS, forMs, timeoutMs: forMs + RUN_MS };
}

/**
 * Checks a property. What fails, or does not end, is told with its seed, its path and the smallest counterexample that
 * was found in the time. A machine that is too slow for all runs checks fewer, and says how many.
 */
export async function holds<Values>(
  property: fc.IAsyncProperty<Values>,
  { runs, runMs, forMs }: Bounds,
  more: fc.Parameters<Values> = {},
): Promise<void> {
  const found = await fc.check(property, {
    numRuns: runs,
    timeout: runMs,
    interruptAfterTimeLimit: forMs,
    ...(REPLAY_SEED === undefined ? {} : { seed: Number(REPLAY_SEED) }),
    ...(REPLAY_PATH === undefined ? {} : { path: REPLAY_PATH }),
    ...more,
  });
  if (found.failed) throw new Error(fc.defaultReportMessage(found), { cause: found.errorInstance });
  if (found.interrupted) console.warn(`${found.numRuns} of ${runs} runs in ${forMs} ms, seed ${found.seed}.`);
}
