/**
 * Steps that are tried again.
 *
 * @module
 */
import { checkBound } from "./limits.ts";
import type { Step } from "./rounds.ts";

export interface RetryOptions {
  /** How often it is tried again after the first time. */
  readonly retries: number;
  /** Milliseconds before the second try; each wait is twice the last, less up to a half by chance. @default 500 */
  readonly backoffMs?: number;
  /** Milliseconds no wait exceeds. @default 30 seconds */
  readonly backoffMaxMs?: number;
  /** Whether an exception is worth another try. @default all are */
  readonly isWorthIt?: (error: unknown) => boolean;
  /** Ends the waiting: `ctx.signal`. */
  readonly signal?: AbortSignal;
}

/**
 * The same work, tried again when it throws. Every try is given the same key; when all are used up, the last exception is
 * thrown. Waits are time the handler runs; what is lost meanwhile begins again with the first try.
 *
 * @example
 * ```ts
 * const receipt = await ctx.step("charge", retrying(({ key }) => charge(order, key), { retries: 5, signal: ctx.signal }));
 * ```
 */
export function retrying<T>(work: Step<T>, options: RetryOptions): Step<T> {
  const { retries, backoffMs = 500, backoffMaxMs = 30_000, isWorthIt = () => true, signal } = options;
  for (const [name, value] of Object.entries({ retries, backoffMs, backoffMaxMs })) {
    checkBound(`retrying(): ${name}`, value);
  }
  return async (context) => {
    for (let tries = 0; ; tries += 1) {
      try {
        return await work(context);
      } catch (error) {
        if (tries >= retries || signal?.aborted || !isWorthIt(error)) throw error;
        await pause(Math.min(backoffMs * 2 ** tries, backoffMaxMs) * (1 - Math.random() / 2), signal);
      }
    }
  };
}

/** Resolves after the time, or at once when it is called off: the next try says what became of that. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done);
  });
}
