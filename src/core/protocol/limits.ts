/**
 * The limits that apply on every runtime, with their defaults. A limit that only one part of an endpoint applies is an
 * option of that part.
 *
 * @module
 */

import { COUNT, checkOptions, type OptionTable, SIZE, TIMER, TIMER_OR_ZERO } from "./check-options.ts";

/**
 * The limits of one endpoint or connection. Each is a whole number of at most 2,147,483,647, and is itself still
 * allowed.
 */
export interface Limits {
  /**
   * The largest size of an HTTP request body or a line on stdio, in bytes. Stops a peer from filling memory. A larger
   * body is refused with 413, a longer line with an error.
   */
  readonly bodyBytesMax: number;
  /**
   * The deepest nesting of arrays and objects in a body. Stops deep recursion in parsers and schemas. A deeper body is
   * refused with -32600.
   */
  readonly bodyDepthMax: number;
  /**
   * The maximum number of values in a body: the members of all its arrays and objects. A body of 4 MiB can hold two
   * million, and a validator may take microseconds for each, or create an error for each. Stops one request from taking
   * seconds. A body with more is refused with 413.
   */
  readonly bodyValuesMax: number;
  /**
   * The maximum number of messages in a batch (2025-03-26). Stops one POST from starting thousands of calls. A larger
   * batch is refused with -32600.
   */
  readonly batchMax: number;
  /**
   * The maximum number of bytes that may wait on a stream for a client that reads slowly. When it is exceeded,
   * progress is dropped, but never the result.
   */
  readonly streamBufferBytesMax: number;
  /**
   * The maximum number of bytes that a round of a modern call may pass to the next round, sealed in `requestState`. The
   * client sends them back each time.
   */
  readonly requestStateBytesMax: number;
  /**
   * How long a client may take to answer a question for its user, in milliseconds. Stops a call from waiting forever
   * for a user who has left. A question that ends the run also waits this long for steps that are still running,
   * because one of them may need the answer.
   */
  readonly elicitTimeoutMs: number;
  /** How long a client may take to answer a question that is not for its user (roots and sampling), in milliseconds. */
  readonly askTimeoutMs: number;
  /**
   * The maximum number of sampling requests of one call. Stops a loop in a handler from spending the user's money. The
   * next request fails with a `QuestionError`.
   */
  readonly samplesPerCallMax: number;
  /**
   * The maximum number of sampling requests of one session or connection while it is in memory. Stops many calls
   * together from spending the user's money.
   */
  readonly samplesPerSessionMax: number;
  /**
   * The greatest `temperature` of a sampling request. Most models accept 0 to 1, some 0 to 2. A request with a greater
   * temperature fails before it is sent.
   */
  readonly temperatureMax: number;
  /**
   * The maximum number of resources that one listen stream or one session may be subscribed to. A request for more is
   * refused with -32602.
   */
  readonly subscriptionUrisMax: number;
  /**
   * The maximum number of characters of one `subscriptions/listen` request, or of all URIs that a session is subscribed
   * to. They stay in memory as long as the stream or session does. A request for more is refused with -32602.
   */
  readonly subscriptionCharsMax: number;
  /**
   * The maximum number of listen streams that one principal, or one connection, may have open at a time. Stops one
   * client from filling the hub. Another stream is refused with 429. At the edge, callers without a principal are
   * bounded only by `streamsMax` of `hub()`, each shard of the hub counts separately, and a value above `streamsMax`
   * has no effect.
   */
  readonly listensPerPrincipalMax: number;
  /** How long a tool without `timeoutMs` may run, in milliseconds. 0 means no limit. */
  readonly toolTimeoutMs: number;
  /**
   * How long any other handler may run, in milliseconds: a custom method or notification, a prompt, a reader or lister
   * of resources, a completer. The time that a client takes to answer a question counts. Then `ctx.signal` aborts, and
   * the client gets -32603 with the reason "timeout". 0 means no limit.
   *
   * @default 15 minutes
   */
  readonly handlerTimeoutMs: number;
}

const MIB = 1024 * 1024;

/** The default limits. */
export const DEFAULT_LIMITS: Limits = {
  bodyBytesMax: 4 * MIB,
  bodyDepthMax: 64,
  bodyValuesMax: 200_000,
  batchMax: 50,
  streamBufferBytesMax: MIB,
  requestStateBytesMax: 256 * 1024,
  elicitTimeoutMs: 10 * 60_000,
  askTimeoutMs: 60_000,
  samplesPerCallMax: 16,
  samplesPerSessionMax: 1_000,
  temperatureMax: 1,
  subscriptionUrisMax: 1_000,
  subscriptionCharsMax: 64 * 1024,
  listensPerPrincipalMax: 64,
  toolTimeoutMs: 0,
  handlerTimeoutMs: 15 * 60_000,
};

const RANGES: OptionTable<Limits> = {
  bodyBytesMax: SIZE,
  bodyDepthMax: [1, 1_000],
  bodyValuesMax: SIZE,
  batchMax: [1, 10_000],
  streamBufferBytesMax: SIZE,
  requestStateBytesMax: SIZE,
  elicitTimeoutMs: TIMER,
  askTimeoutMs: TIMER,
  samplesPerCallMax: COUNT,
  samplesPerSessionMax: COUNT,
  temperatureMax: COUNT,
  subscriptionUrisMax: COUNT,
  subscriptionCharsMax: COUNT,
  listensPerPrincipalMax: COUNT,
  toolTimeoutMs: TIMER_OR_ZERO,
  handlerTimeoutMs: TIMER_OR_ZERO,
};

/**
 * Returns the given limits, with defaults for undefined limits.
 *
 * @param where The prefix of the name of a limit in error messages.
 * @throws {KitError} `options-invalid` naming the limit, its value and its range.
 */
export function resolveLimits(given: Partial<Limits> = {}, where = "limits."): Limits {
  checkOptions(where, given, RANGES);
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) };
}
