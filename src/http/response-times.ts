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
   * How long a call may run, in milliseconds, before its response becomes an SSE stream with a heartbeat. With 0, every
   * response that is not complete at once is a stream.
   *
   * @default 2,000
   */
  readonly jsonWaitMs?: number;
  /**
   * The time between two heartbeats of an SSE stream, in milliseconds. Proxies close streams that are idle for minutes,
   * and a write is needed to detect that a client has disconnected.
   *
   * @default 15,000
   */
  readonly heartbeatMs?: number;
  /**
   * How long a client may stop reading a stream while data is waiting for it, in milliseconds. Then the stream is
   * closed; a client that can resume it may do so.
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

/** Returns the limits and times of an endpoint, with defaults for missing values. The given values must be valid. */
export function resolveHttpLimits(options: HttpLimitOptions): HttpLimits {
  const { limits, jsonWaitMs = 2_000, heartbeatMs = 15_000, slowReaderMs = 300_000 } = options;
  return { ...resolveLimits(limits), jsonWaitMs, heartbeatMs, slowReaderMs };
}
