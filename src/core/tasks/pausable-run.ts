/**
 * A run of a handler that can end between two steps and continue in another run: on a request that becomes a task, and
 * in a task before the platform ends it.
 *
 * @module
 */
import type { Asker } from "../ask/asker.ts";
import type { Step, StepContext } from "../define/handler-run.ts";
import type { Attempt } from "../run/attempt.ts";
import type { SUSPENDED, SuspendableRun } from "../run/round.ts";
import { suspend } from "../run/suspend.ts";
import { StepWaits, type TryStore } from "./stored-tries.ts";

/** The result of a run that was paused, to continue in another run. */
export const PAUSED: unique symbol = Symbol("paused");

/** The result of a run whose steps all wait for their next try. */
export const WAITING: unique symbol = Symbol("waiting");

/**
 * How long a run continues after all its steps have begun to wait, in milliseconds. A branch of the handler may be
 * working outside of steps, and would otherwise start from the beginning in every run.
 */
const LINGER_MS = 500;

export interface PausableRunOptions {
  /** Whether the run should end after the step that has just completed. */
  readonly isDue: () => boolean;
  /** Whether `ctx.task()` pauses the run. */
  readonly pauseAtTask: boolean;
  /** Stores the tries of steps for later runs. If absent, steps wait within the run. */
  readonly tries?: TryStore | undefined;
}

export class PausableRun implements SuspendableRun {
  readonly #attempt: Attempt;
  readonly #isDue: () => boolean;
  readonly #pauseAtTask: boolean;
  readonly #waits: StepWaits | undefined;
  #runningSteps = 0;
  #isPaused = false;
  #lingering: ReturnType<typeof setTimeout> | undefined;
  readonly #end = Promise.withResolvers<typeof PAUSED | typeof WAITING>();
  readonly suspended: Promise<typeof SUSPENDED>;

  constructor(attempt: Attempt, { isDue, pauseAtTask, tries }: PausableRunOptions) {
    this.#attempt = attempt;
    this.#isDue = isDue;
    this.#pauseAtTask = pauseAtTask;
    this.#waits = tries && new StepWaits(tries, () => this.#look());
    // The caller that began the run receives this value unchanged, so the cast is safe.
    this.suspended = Promise.race([attempt.suspended, this.#end.promise as Promise<never>]);
  }

  get asker(): Asker {
    return this.#attempt.asker;
  }

  get isSilent(): boolean {
    return this.#isPaused || this.#attempt.isSilent;
  }

  async step<T>(name: string, work: Step<T>): Promise<T> {
    if (this.#isPaused) return suspend();
    let isNew = false;
    const retried = this.#waits?.step(work) ?? work;
    const done = (context: StepContext) => {
      isNew = true;
      return retried(context);
    };
    this.#runningSteps += 1;
    try {
      const result = await this.#attempt.step(name, done);
      if (isNew && this.#isDue()) this.#isPaused = true;
      return this.#isPaused ? suspend() : result;
    } catch (error) {
      // The next run repeats the step.
      if (this.#isPaused) return suspend();
      throw error;
    } finally {
      this.#runningSteps -= 1;
      this.#look();
    }
  }

  within<T>(work: () => Promise<T>): Promise<T> {
    return this.#isPaused ? suspend() : this.#attempt.within(work);
  }

  async task(): Promise<void> {
    if (!this.#pauseAtTask) return undefined;
    this.#isPaused = true;
    this.#look();
    return suspend();
  }

  /** The time at which the first step that waits for another run is due. */
  get wakeAtMs(): number | undefined {
    return this.#waits?.wakeAtMs;
  }

  /**
   * Ends the run if it is paused, or if all its steps wait. Steps that have begun are awaited first, so that they need
   * not be repeated.
   */
  #look(): void {
    clearTimeout(this.#lingering);
    if (!this.#isAtRest) return;
    if (this.#isPaused) this.#end.resolve(PAUSED);
    else if (this.#waits?.count) this.#lingering = setTimeout(() => this.#endWaiting(), LINGER_MS);
  }

  #endWaiting(): void {
    // The end of the running step calls `#look` again.
    if (!this.#isAtRest) return;
    this.#isPaused = true;
    this.#end.resolve(WAITING);
  }

  /** Whether the only open steps are those that wait for another run. */
  get #isAtRest(): boolean {
    return this.#runningSteps === (this.#waits?.count ?? 0);
  }
}
