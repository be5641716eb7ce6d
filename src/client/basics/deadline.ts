import { ClientError } from "./errors.ts";

export interface DeadlineOptions {
  /** The operation that the limits apply to, for the error message. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly totalTimeoutMs: number;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The time limits of one request and the caller's signal, combined into one signal. Its reason is the reason of the caller's
 * signal, or a {@link ClientError} that names the limit.
 */
export class Deadline {
  readonly #options: DeadlineOptions;
  readonly #controller = new AbortController();
  readonly #total: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  /** The number of holds. While there are any, such as questions that are being answered, the limit without progress is paused. */
  #holds = 0;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    const { signal, totalTimeoutMs } = options;
    if (signal?.aborted) this.#controller.abort(signal.reason);
    signal?.addEventListener("abort", this.#onAbort);
    if (totalTimeoutMs > 0)
      this.#total = setTimeout(() => this.#expire("total-timeout", totalTimeoutMs), totalTimeoutMs);
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Restarts the limit without progress. */
  restart(): void {
    clearTimeout(this.#idle);
    const { timeoutMs } = this.#options;
    if (timeoutMs === 0 || this.#holds > 0 || this.signal.aborted) return;
    this.#idle = setTimeout(() => this.#expire("timeout", timeoutMs), timeoutMs);
  }

  /** Pauses the limit without progress until the returned function is called. */
  hold(): () => void {
    this.#holds += 1;
    clearTimeout(this.#idle);
    return () => {
      this.#holds -= 1;
      this.restart();
    };
  }

  /** Ends both limits. The signal never aborts afterwards. */
  stop(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    // A hold that ends later must not start a timer again.
    this.#holds = Number.POSITIVE_INFINITY;
  }

  readonly #onAbort = (): void => {
    this.stop();
    this.#controller.abort(this.#options.signal?.reason);
  };

  #expire(code: "timeout" | "total-timeout", ms: number): void {
    this.stop();
    const condition =
      code === "timeout" ? `: no progress for ${ms} ms (timeoutMs)` : ` after ${ms} ms (totalTimeoutMs)`;
    const text = `${this.#options.what} timed out${condition}.`;
    this.#controller.abort(new ClientError(code, text, { mayHaveRun: true }));
  }
}

/** Settles like `promise`, or rejects with the reason of the signal as soon as it aborts. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
