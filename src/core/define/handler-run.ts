/**
 * Runs of a handler, as its context sees them: steps, and what an earlier run left for this one.
 *
 * @module
 */
import type { Asker } from "../ask/asker.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";

/** The argument of a step. */
export interface StepContext {
  /** The same whenever this step of this call is run: for use as an idempotency key. */
  readonly key: string;
  /** The tries that `retrying()` counts, if the count outlives the run; absent if it is kept in memory only. */
  readonly tries?: Tries;
}

/** The tries of one step, over all runs. */
export interface Tries {
  /** How many have failed. */
  readonly failed: number;
  /**
   * Keeps how many have failed by now, and when the next is due.
   *
   * @returns A promise that never settles, where the next try belongs to another run; undefined where it belongs to this one.
   */
  fail(failed: number, waitMs: number): Promise<never> | undefined;
}

/** The work of a step. What it returns is kept as JSON. */
export type Step<T> = (context: StepContext) => T | Promise<T>;

/** One run of a handler that may be run again from the top. */
export interface HandlerRun {
  readonly asker: Asker;
  /** Whether what the handler sends was sent by an earlier run, or comes too late. */
  readonly isSilent: boolean;
  step<T>(name: string, work: Step<T>): Promise<T>;
  /** Ends a run on the request, to go on as a task. Absent where the call does not become a task, or is one. */
  task?(): Promise<void>;
  /** Runs work of the handler, unless the run is over: then the promise never settles. */
  within<T>(work: () => Promise<T>): Promise<T>;
}

/** The input that an earlier round leaves for the run of a handler. */
export interface HandlerInput {
  readonly inputResponses: JsonObject;
  readonly requestState: string | undefined;
  /** The run, where the handler may ask in the middle and be run again from the top. */
  readonly replay?: HandlerRun | undefined;
}
