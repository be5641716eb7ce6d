/**
 * Checks properties of random handlers. `REPLAY_RUNS` is the number of handlers; `REPLAY_SEED` and `REPLAY_PATH`, which
 * a failure prints, repeat it.
 */
import * as fc from "fast-check";
import { scripts } from "./replay-arbitrary.ts";
import type { Case } from "./replay-drive.ts";
import examples from "./replay-examples.json" with { type: "json" };

const { REPLAY_RUNS, REPLAY_SEED, REPLAY_PATH } = process.env;

const RUN_MS = 30_000;

/** Cases that failed in the past. They run first. */
export const failedOnce = examples as readonly Case[];

/** Any handler, any person, any client. */
export const cases: fc.Arbitrary<Case> = fc.record({
  script: scripts,
  personSeed: fc.nat(1_000),
  choices: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 }),
});

export interface Bounds {
  readonly runs: number;
  /** Milliseconds that one run may take: many times what it normally takes. */
  readonly runMs: number;
  /** Milliseconds for all runs, including shrinking. */
  readonly forMs: number;
  /** The timeout of the test: longer, so that the property ends by itself and reports what it found. */
  readonly timeoutMs: number;
}

/** Bounds for the number of runs. @param runs The number if `REPLAY_RUNS` is not set. */
export function boundsOf(runs: number, msEach: number): Bounds {
  const wanted = Number(REPLAY_RUNS ?? runs);
  const forMs = 2 * RUN_MS + wanted * msEach;
  return { runs: wanted, runMs: RUN_MS, forMs, timeoutMs: forMs + RUN_MS };
}

/**
 * Checks a property. A failure, or a run that does not end, is reported with its seed, its path and the smallest
 * counterexample that was found in time. A machine that is too slow for all runs checks fewer, and reports how many.
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
