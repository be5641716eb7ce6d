/**
 * Retries of steps across the runs of a task: the number of failed tries, and the time of the next try. If all steps of
 * a run wait for long, the run ends, so that its object can be evicted.
 *
 * @module
 */

import { pause } from "../basics/pause.ts";
import type { Step, StepContext, Tries } from "../define/handler-run.ts";
import { suspend } from "../run/suspend.ts";

/** The stored tries of one step, as JSON. */
export interface StoredTries {
  readonly failed: number;
  readonly nextAtMs: number;
}

/** Stores the tries of a task's steps by key. They must be durable before anything leaves the process. */
export interface TryStore {
  /** Returns undefined if no try has failed. */
  find(stepKey: string): StoredTries | undefined;
  keep(stepKey: string, tries: StoredTries): void;
  /** Called when the step is done. This need not be durable, because the result is in the journal. */
  remove(stepKey: string): void;
}

/**
 * The longest wait within a run, in milliseconds. Ending the run for a shorter wait would cost more, in rows and in a
 * repeated run of the handler.
 * @limit internal
 */
const WAIT_HERE_MAX_MS = 1_000;

/** The waits of one run. */
export class StepWaits {
  readonly #store: TryStore;
  readonly #onWait: () => void;
  /** The due times of steps that wait for another run, by key. */
  readonly #dueAtMs = new Map<string, number>();

  /** @param onWait Called when a step begins to wait for another run. */
  constructor(store: TryStore, onWait: () => void) {
    this.#store = store;
    this.#onWait = onWait;
  }

  /** The number of steps that wait for another run. */
  get count(): number {
    return this.#dueAtMs.size;
  }

  /** The time at which the first of these steps is due, if there is one. */
  get wakeAtMs(): number | undefined {
    return this.count > 0 ? Math.min(...this.#dueAtMs.values()) : undefined;
  }

  /** Wraps the work of a step so that it does not start before it is due. */
  step<T>(work: Step<T>): Step<T> {
    return (context) => {
      const { nextAtMs = 0 } = this.#store.find(context.key) ?? {};
      const waitMs = nextAtMs - Date.now();
      const run = async () => {
        const result = await work({ ...context, tries: this.#triesOf(context) });
        this.#store.remove(context.key);
        return result;
      };
      // Called synchronously if possible: some runtimes recognise that code runs within a step only before its first
      // await.
      if (waitMs <= 0) return run();
      return this.#elsewhere(context.key, nextAtMs) ?? pause(waitMs).then(run);
    };
  }

  #triesOf({ key }: StepContext): Tries {
    return {
      failed: this.#store.find(key)?.failed ?? 0,
      fail: (failed, waitMs) => {
        const nextAtMs = Math.ceil(Date.now() + waitMs);
        this.#store.keep(key, { failed, nextAtMs });
        return this.#elsewhere(key, nextAtMs);
      },
    };
  }

  #elsewhere(key: string, atMs: number): Promise<never> | undefined {
    if (atMs - Date.now() <= WAIT_HERE_MAX_MS) return undefined;
    this.#dueAtMs.set(key, atMs);
    this.#onWait();
    return suspend();
  }
}
