/** Runs very many random handlers at once in one place, and says which of them went wrong. */
import * as fc from "fast-check";
import type { Case } from "./replay-drive.ts";
import { cases } from "./replay-property.ts";

/** Where handlers run. What it needs stands while its cases run. */
export interface Place {
  /** Runs one case. Rejects with what is wrong. */
  run(each: Case): Promise<void>;
  close?(): Promise<void>;
}

/** Opened anew for each batch: what cases leave behind does not add up. */
export type OpenPlace = (seed: number) => Place | Promise<Place>;

export interface RunsOptions {
  readonly open: OpenPlace;
  readonly runs: number;
  /** Of the first batch; each has the next one. */
  readonly seed: number;
  /** Runs this one of the first batch only. */
  readonly only?: number | undefined;
  /** Cases at once. */
  readonly atOnce: number;
  /** Hears of each case that failed, and how far the runs are after each batch. */
  readonly report: (text: string) => void;
}

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
}

/** Cases of one seed. */
export const BATCH = 1_000;
/** Milliseconds after which a case counts as one that does not end. */
const CASE_MS = 180_000;

/** Runs as many cases as it is told. */
export async function runCases({ open, runs, seed, only, atOnce, report }: RunsOptions): Promise<Outcome> {
  const startedAtMs = performance.now();
  let [passed, failed] = [0, 0];
  const seconds = () => Math.round((performance.now() - startedAtMs) / 1000);
  for (let batch = 0; batch * BATCH < runs; batch += 1) {
    const own = seed + batch;
    const all = [...fc.sample(cases, { seed: own, numRuns: BATCH }).entries()].slice(0, runs - batch * BATCH);
    const left = only === undefined ? all : all.filter(([index]) => index === only);
    const place = await open(own);
    const work = async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const [index, each] = next;
        try {
          await inTime(place.run(each));
          passed += 1;
        } catch (error) {
          failed += 1;
          report(`failed: --seed ${own} --only ${index}\n${JSON.stringify(each)}\n${describe(error)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, left.length) }, work));
    await place.close?.();
    report(`seeds ${seed} to ${own}: ${passed} passed, ${failed} failed, ${seconds()} s`);
  }
  return { passed, failed, seconds: seconds() };
}

async function inTime(work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not end within ${CASE_MS} ms.`)), CASE_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error);
}
