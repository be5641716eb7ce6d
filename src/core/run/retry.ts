/**
 * Retries of steps.
 *
 * @module
 */

import { pause } from "../basics/pause.ts";
import type { Step, StepContext } from "../define/handler-run.ts";
import { COUNT, checkNumber, checkOptions, type OptionTable, TIMER_OR_ZERO } from "../protocol/check-options.ts";

/** The number of retries of a step, and the time between them. */
export interface RetryOptions {
  /** The maximum number of times that the step is tried again after the first try. */
  readonly retries: number;
  /**
   * How long to wait before the second try, in milliseconds. Each following wait is twice as long. Each wait is
   * shortened at random by up to a half.
   *
   * @default 500
   */
  readonly backoffMs?: number;
  /** The longest wait, in milliseconds. @default 30 seconds */
  readonly backoffMaxMs?: number;
  /** Whether the step is tried again after an exception. @default after every exception */
  readonly isWorthIt?: (error: unknown) => boolean;
  /** Ends the waiting between tries when it aborts, such as `ctx.signal`. */
  readonly signal?: AbortSignal;
}

const OPTIONS: OptionTable<RetryOptions> = {
  retries: COUNT,
  backoffMs: TIMER_OR_ZERO,
  backoffMaxMs: TIMER_OR_ZERO,
  isWorthIt: null,
  signal: null,
};

/** The argument of one try. */
export interface TryContext extends Omit<StepContext, "tries"> {
  /** The number of this try, from 1. */
  readonly attempt: number;
}

/**
 * Returns the work of a step that is tried again when it throws. Every try gets the same key and its own number. The
 * exception of the last try is thrown; a later run that reaches the step makes one more try.
 *
 * In a task, the number of failed tries is stored, and a wait of more than a second ends the run: the object can be
 * evicted, and another run makes the next try when it is due. Otherwise the handler itself waits, and a run that is
 * lost starts again with the first try.
 *
 * @example
 * ```ts
 * const receipt = await ctx.step("charge", retrying(({ key }) => charge(order, key), { retries: 5, signal: ctx.signal
 * }));
 * ```
 */
export function retrying<T>(work: (context: TryContext) => T | Promise<T>, options: RetryOptions): Step<T> {
  checkOptions("retrying(): ", options, OPTIONS);
  const { retries, backoffMs = 500, backoffMaxMs = 30_000, isWorthIt = () => true, signal } = options;
  checkNumber("retrying(): retries", retries, COUNT);
  return async ({ key, tries }) => {
    for (let attempt = (tries?.failed ?? 0) + 1; ; attempt += 1) {
      try {
        return await work({ key, attempt });
      } catch (error) {
        const isLast = attempt > retries || signal?.aborted || !isWorthIt(error);
        const waitMs = isLast
          ? 0
          : Math.min(backoffMs * 2 ** Math.min(attempt - 1, 31), backoffMaxMs) * (1 - Math.random() / 2);
        const elsewhere = tries?.fail(attempt, waitMs);
        if (isLast) throw error;
        await (elsewhere ?? pause(waitMs, signal));
      }
    }
  };
}
