/** Runs many random handlers concurrently in one place, and reports which of them failed. */
import * as fc from "fast-check";
import type { Case } from "./replay-drive.ts";
import { cases } from "./replay-property.ts";

/** Interruptions of the cases of one place. An attempt is named after its case, followed by a dot and a number. */
export interface Interrupted {
  /** Attempts that lost the process. */
  readonly killed: readonly string[];
  /** Attempts that lost only their object. */
  readonly lost: readonly string[];
  /** The points at which objects were lost. */
  readonly points: readonly string[];
}

/** A place in which handlers run. Its resources exist while its cases run. */
export interface Place {
  /** Runs one case. Rejects with what is wrong. @param name The same when the case is repeated. */
  run(each: Case, name: string): Promise<void>;
  close?(): Promise<void>;
  /** The interruptions, available after `close()`; absent if nothing interrupts this place. */
  interrupted?(): Interrupted;
}

/** Opened again for each batch, so that leftovers of cases do not accumulate. */
export type OpenPlace = (seed: number) => Place | Promise<Place>;

export interface RunsOptions {
  readonly open: OpenPlace;
  readonly runs: number;
  /** The seed of the first batch; each later batch has the next seed. */
  readonly seed: number;
  /** Runs only this case of the first batch. */
  readonly only?: number | undefined;
  /** Number of concurrent cases. */
  readonly atOnce: number;
  /** Called for each case that failed or took long, and with the progress after each batch. */
  readonly report: (text: string) => void;
}

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  /** Number of interrupted cases as text; empty if nothing interrupts them. */
  readonly interrupted: string;
}

/** Number of cases per seed. */
export const BATCH = 1_000;
/** Milliseconds after which a case counts as hanging. */
const CASE_MS = 180_000;
/** Milliseconds after which a case that passed is reported. */
const LONG_MS = 60_000;

/** Runs `runs` cases. The next batch begins while the last cases of the previous one are still running. */
export async function runCases({ open, runs, seed, only, atOnce, report }: RunsOptions): Promise<Outcome> {
  const startedAtMs = performance.now();
  let [passed, failed] = [0, 0];
  const tally = new Tally();
  const seconds = () => Math.round((performance.now() - startedAtMs) / 1000);
  const ending: Promise<void>[] = [];

  async function runOne(place: Place, own: number, index: number, each: Case): Promise<void> {
    const begunAtMs = performance.now();
    try {
      await inTime(place.run(each, `${own}.${index}`));
      passed += 1;
      const tookMs = performance.now() - begunAtMs;
      if (tookMs > LONG_MS) report(`took ${Math.round(tookMs / 1000)} s: --seed ${own} --only ${index}`);
    } catch (error) {
      failed += 1;
      report(`failed: --seed ${own} --only ${index}\n${JSON.stringify(each)}\n${describe(error)}`);
    }
  }

  const free = new Places(atOnce);
  for (let batch = 0; batch * BATCH < runs; batch += 1) {
    const own = seed + batch;
    const all = [...fc.sample(cases, { seed: own, numRuns: BATCH }).entries()].slice(0, runs - batch * BATCH);
    const place = await open(own);
    const running: Promise<void>[] = [];
    for (const [index, each] of all) {
      if (only !== undefined && index !== only) continue;
      await free.take();
      running.push(runOne(place, own, index, each).finally(() => free.give()));
    }
    const end = async () => {
      await Promise.all(running);
      await place.close?.();
      tally.add(place.interrupted?.());
      report(`seeds ${seed} to ${own}: ${passed} passed, ${failed} failed, ${seconds()} s${tally.text()}`);
    };
    ending.push(end());
    // At most two places at a time.
    await ending.at(-2);
  }
  await Promise.all(ending);
  return { passed, failed, seconds: seconds(), interrupted: tally.text() };
}

/** A semaphore. */
class Places {
  #left: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#left = count;
  }

  async take(): Promise<void> {
    if (this.#left > 0) this.#left -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#left += 1;
  }
}

/** The interruptions of all batches. */
class Tally {
  #hasAny = false;
  #cases = 0;
  #killed = 0;
  #lost = 0;
  #losses = 0;
  readonly #points = new Set<string>();

  add(interrupted: Interrupted | undefined): void {
    if (!interrupted) return;
    this.#hasAny = true;
    const { killed, lost, points } = interrupted;
    this.#cases += casesOf([...killed, ...lost]);
    this.#killed += casesOf(killed);
    this.#lost += casesOf(lost);
    this.#losses += points.length;
    for (const point of points) this.#points.add(point);
  }

  text(): string {
    if (!this.#hasAny) return "";
    const [cases, killed, lost] = [this.#cases, this.#killed, this.#lost];
    return `, ${cases} interrupted (${killed} by the end of the process; ${lost} by a reset of their object, ${this.#losses} times at ${this.#points.size} points)`;
  }
}

/** Number of cases that the attempts belong to. */
function casesOf(attempts: readonly string[]): number {
  return new Set(attempts.map((name) => name.slice(0, name.lastIndexOf(".")))).size;
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
