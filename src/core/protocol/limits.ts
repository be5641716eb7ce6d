/**
 * The limits that apply on every runtime, with their defaults. A bound that only one part of an endpoint applies is an
 * option of that part.
 *
 * @module
 */

import { COUNT, checkOptions, type OptionTable, SIZE, TIMER, TIMER_OR_ZERO } from "./check-options.ts";

/** The limits of one endpoint: whole numbers, inclusive, at most 2,147,483,647. */
export interface Limits {
  /** Bytes of one HTTP request body or one stdio line. Stops a peer from filling memory; refused with 413. */
  readonly bodyBytesMax: number;
  /** Nesting of arrays and objects in one body. Stops deep recursion in parsers and schemas; refused with -32600. */
  readonly bodyDepthMax: number;
  /**
   * Values in one body: the members of all its arrays and objects. A body of 4 MiB can hold two million, and a
   * validator may take microseconds or create an error for each. Stops one request from taking seconds; refused with
   * 413.
   */
  readonly bodyValuesMax: number;
  /** Members of one batch (2025-03-26). Stops one POST from starting thousands of calls; refused with -32600. */
  readonly batchMax: number;
  /**
   * Bytes of notifications that one stream may hold for a slow reader. Beyond it, progress is dropped, but never the
   * result.
   */
  readonly streamBufferBytesMax: number;
  /**
   * Bytes that one round of a modern call may keep for the next, sealed in `requestState`. Clients send them back in
   * each round.
   */
  readonly requestStateBytesMax: number;
  /**
   * Milliseconds that a client has to answer a question to its user. Stops a call from waiting forever for a user who
   * has left. A question that ends the run also waits at most this long for running steps, because one of them may need
   * the answer.
   */
  readonly elicitTimeoutMs: number;
  /** Milliseconds that a client has to answer a question to itself (roots, sampling). */
  readonly askTimeoutMs: number;
  /**
   * Sampling requests of one call. Stops a loop in a handler from spending the user's money; refused with a
   * QuestionError.
   */
  readonly samplesPerCallMax: number;
  /** Sampling requests of one session or connection, while it is in memory. Stops many calls from doing the same. */
  readonly samplesPerSessionMax: number;
  /**
   * The greatest `temperature` of a sampling request. Most models take 0 to 1, some take 0 to 2. A request with a
   * greater one fails before it is sent.
   */
  readonly temperatureMax: number;
  /** Resources that one listen stream or one session may be subscribed to. Refused with -32602. */
  readonly subscriptionUrisMax: number;
  /**
   * Characters of one `subscriptions/listen` request, or of all URIs that a session is subscribed to. They stay in
   * memory as long as the stream or session. Refused with -32602.
   */
  readonly subscriptionCharsMax: number;
  /**
   * Listen streams that one principal, or one connection, may have open at a time. At the edge, callers without a
   * principal are bounded only by `streamsMax` of `hub()`, and each shard of the hub counts for itself. Stops one client
   * from filling the hub; refused with 429.
   */
  readonly listensPerPrincipalMax: number;
  /** Milliseconds that a tool without its own `timeoutMs` may run; 0 means no limit. */
  readonly toolTimeoutMs: number;
  /**
   * Milliseconds that any other handler may run: a custom method or notification, a prompt, a reader or lister of
   * resources, or a completer. After that, `ctx.signal` aborts and the client gets -32603 with the reason "timeout".
   * The time that a client takes to answer a question is included. 0 means no limit.
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
 * Returns the given limits, with defaults for those that are undefined.
 *
 * @param where The text before the name of a limit in an error.
 * @throws {KitError} `options-invalid` naming the limit, its value and its range.
 */
export function resolveLimits(given: Partial<Limits> = {}, where = "limits."): Limits {
  checkOptions(where, given, RANGES);
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) };
}
