/**
 * The interface between a handler's context and its run: steps, and the input from earlier runs.
 *
 * @module
 */
import type { Asker } from "../ask/asker.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";

/** The argument of a step. */
export interface StepContext {
  /** The key of the step, which is the same in every run of the call. Use it as an idempotency key. */
  readonly key: string;
  /** The tries that `retrying()` counts, if their number is stored; absent if it is in memory only. */
  readonly tries?: Tries;
}

/** The tries of one step in all runs. */
export interface Tries {
  /** The number of failed tries. */
  readonly failed: number;
  /**
   * Stores the number of failed tries and the time of the next try.
   *
   * @returns A promise that never settles if another run makes the next try; undefined if this run does.
   */
  fail(failed: number, waitMs: number): Promise<never> | undefined;
}

/** The work of a step. Its result is stored as JSON. */
export type Step<T> = (context: StepContext) => T | Promise<T>;

/** One run of a handler that may be run again from the top. */
export interface HandlerRun {
  readonly asker: Asker;
  /** Whether messages of the handler are dropped, because an earlier run sent them or the run is over. */
  readonly isSilent: boolean;
  step<T>(name: string, work: Step<T>): Promise<T>;
  /**
   * Ends a run on the request, to continue as a task. Absent if the call does not become a task, or already is a task.
   */
  task?(): Promise<void>;
  /** Runs work of the handler. If the run is over, the promise never settles. */
  within<T>(work: () => Promise<T>): Promise<T>;
}

/** The input of a handler's run from the previous round. */
export interface HandlerInput {
  readonly inputResponses: JsonObject;
  readonly requestState: string | undefined;
  /** The run, if the handler may ask in the middle and be run again from the top. */
  readonly replay?: HandlerRun | undefined;
}
