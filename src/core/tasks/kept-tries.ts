/**
 * Steps that are tried again, over the runs of a task: how many tries have failed, and when the next is due. A run whose
 * steps all wait for long is ended, so that what runs it may sleep.
 *
 * @module
 */

import type { Step, StepContext, Tries } from "../define/handler-run.ts";
import { pause } from "../protocol/pause.ts";
import { suspend } from "../run/suspend.ts";

/** The tries of one step, as they are kept. JSON. */
export interface KeptTries {
  readonly failed: number;
  readonly nextAtMs: number;
}

/** Keeps the tries of a task's steps, by their keys. What is kept must not be lost once anything leaves the process. */
export interface TriesKeeper {
  /** Undefined when none has failed. */
  find(stepKey: string): KeptTries | undefined;
  keep(stepKey: string, tries: KeptTries): void;
  /** The step is done. Need not be durable: its result is in the journal. */
  forget(stepKey: string): void;
}

/** Milliseconds a step may wait within a run. To end one and begin another costs rows and a run of the handler. */
const WAIT_HERE_MAX_MS = 1_000;

/** The waits of one run. */
export class RunWaits {
  readonly #keeper: TriesKeeper;
  readonly #onWait: () => void;
  /** When steps that wait for another run are due, by key. */
  readonly #dueAtMs = new Map<string, number>();

  /** @param onWait Called when a step begins to wait for another run. */
  constructor(keeper: TriesKeeper, onWait: () => void) {
    this.#keeper = keeper;
    this.#onWait = onWait;
  }

  /** How many steps wait for another run. */
  get count(): number {
    return this.#dueAtMs.size;
  }

  /** When the first of them is due; undefined when there is none. */
  get wakeAtMs(): number | undefined {
    return this.count > 0 ? Math.min(...this.#dueAtMs.values()) : undefined;
  }

  /** The work of a step, begun no earlier than it is due. */
  step<T>(work: Step<T>): Step<T> {
    return (context) => {
      const { nextAtMs = 0 } = this.#keeper.find(context.key) ?? {};
      const waitMs = nextAtMs - Date.now();
      const run = async () => {
        const result = await work({ ...context, tries: this.#triesOf(context) });
        this.#keeper.forget(context.key);
        return result;
      };
      // At once where it can be: what a step does before its first await is known to be the step's.
      if (waitMs <= 0) return run();
      return this.#elsewhere(context.key, nextAtMs) ?? pause(waitMs).then(run);
    };
  }

  #triesOf({ key }: StepContext): Tries {
    return {
      failed: this.#keeper.find(key)?.failed ?? 0,
      fail: (failed, waitMs) => {
        const nextAtMs = Math.ceil(Date.now() + waitMs);
        this.#keeper.keep(key, { failed, nextAtMs });
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
