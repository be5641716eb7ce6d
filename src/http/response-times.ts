/**
 * The times of HTTP responses, and the limits of an endpoint that serves HTTP.
 *
 * @module
 */
import { type OptionTable, TIMER, TIMER_OR_ZERO } from "../core/protocol/check-options.ts";
import { type Limits, resolveLimits } from "../core/protocol/limits.ts";

/** The times of HTTP responses. */
export interface ResponseTimes {
  /**
   * The time, in milliseconds, after which the response of a call that is still running becomes an SSE stream with a
   * heartbeat. 0 streams every response that is not complete at once.
   *
   * @default 2,000
   */
  readonly jsonWaitMs?: number;
  /**
   * The time, in milliseconds, between two heartbeats of an SSE stream. Proxies cut streams that are silent for minutes,
   * and a client that has vanished is only noticed when something is written to it.
   *
   * @default 15,000
   */
  readonly heartbeatMs?: number;
  /**
   * The time, in milliseconds, for which a client may read nothing of a stream while something waits for it.
   * Then the stream is cut, and a client that can resume it may do so.
   *
   * @default 300,000
   */
  readonly slowReaderMs?: number;
}

/** The options that {@link resolveHttpLimits} reads. */
export interface HttpLimitOptions extends ResponseTimes {
  readonly limits?: Partial<Limits>;
}

/** The limits of an endpoint and the times of its responses. */
export interface HttpLimits extends Limits, Required<ResponseTimes> {}

/** The ranges of the times of responses. */
export const TIMES: OptionTable<ResponseTimes> = {
  jsonWaitMs: TIMER_OR_ZERO,
  heartbeatMs: TIMER,
  slowReaderMs: TIMER,
};

/** Returns the limits and times of an endpoint, with the default of each that is not given. They must be valid. */
export function resolveHttpLimits(options: HttpLimitOptions): HttpLimits {
  const { limits, jsonWaitMs = 2_000, heartbeatMs = 15_000, slowReaderMs = 300_000 } = options;
  return { ...resolveLimits(limits), jsonWaitMs, heartbeatMs, slowReaderMs };
}
