/**
 * Every default bound in one place. Each says which attack or accident it stops, and why the answer is a refusal.
 *
 * @module
 */

import { KitError } from "./errors.ts";

/** Bounds of one endpoint. All are inclusive, and numbers from 0 to 2^31 - 1. */
export interface Limits {
  /** Bytes of one HTTP request body or one stdio line. Stops a peer from filling memory; refused with 413. */
  readonly bodyBytesMax: number;
  /** Nesting of arrays and objects in one body. Stops deep recursion in parsers and schemas; refused with -32600. */
  readonly bodyDepthMax: number;
  /** Members of one batch (2025-03-26). Stops one POST from starting thousands of calls; refused with -32600. */
  readonly batchMax: number;
  /** Milliseconds a response waits to become JSON before it turns into an SSE stream with a heartbeat. */
  readonly jsonWaitMs: number;
  /** Milliseconds between SSE heartbeats. Edges cut silent streams after minutes, and the write is what finds a vanished client. */
  readonly heartbeatMs: number;
  /** Bytes of notifications one stream may hold for a slow reader. Beyond it progress is dropped; the result never is. */
  readonly streamBufferBytesMax: number;
  /** Bytes of what one round of a modern call keeps for the next, sealed in `requestState`. Clients send it back each time. */
  readonly requestStateBytesMax: number;
  /** Milliseconds a client may read nothing of a stream while more than that buffer waits for it. Then the stream is cut. */
  readonly slowReaderMs: number;
  /**
   * Milliseconds a client has to answer a question for its user. Stops a call from waiting for ever on one who left. Where
   * asking ends the run, also how long a question waits for steps under way: one of them may wait for the answer.
   */
  readonly elicitTimeoutMs: number;
  /** Milliseconds a client has to answer a question for itself (roots, sampling). */
  readonly askTimeoutMs: number;
  /** Sampling requests of one call. Stops a loop in a handler from spending the user's money; refused with a QuestionError. */
  readonly samplesPerCallMax: number;
  /** Sampling requests of one session or connection, while it is in memory. Stops many calls from doing the same. */
  readonly samplesPerSessionMax: number;
  /** Milliseconds a tool may run when it declares no timeout of its own; 0 is no bound. */
  readonly toolTimeoutMs: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: Limits = {
  bodyBytesMax: 4 * MIB,
  bodyDepthMax: 64,
  batchMax: 50,
  jsonWaitMs: 2_000,
  heartbeatMs: 15_000,
  streamBufferBytesMax: MIB,
  requestStateBytesMax: 256 * 1024,
  slowReaderMs: 5 * 60_000,
  elicitTimeoutMs: 10 * 60_000,
  askTimeoutMs: 60_000,
  samplesPerCallMax: 16,
  samplesPerSessionMax: 1_000,
  toolTimeoutMs: 0,
};

/**
 * The defaults with an author's limits over them; what is undefined leaves the default.
 *
 * @throws {KitError} `options-invalid` naming the limit: a bound that is no number would bound nothing.
 */
export function resolveLimits(given: Partial<Limits> = {}): Limits {
  const names = Object.keys(DEFAULT_LIMITS) as (keyof Limits)[];
  const checked = names.map((name) => [name, checkBound(`limits.${name}`, given[name] ?? DEFAULT_LIMITS[name])]);
  return Object.fromEntries(checked) as Limits;
}

/**
 * Gives the value back.
 *
 * @throws {KitError} `options-invalid` when it is no bound. One too large for a timer would fire at once.
 */
export function checkBound(what: string, value: number, min = 0): number {
  if (value >= min && value < 2 ** 31) return value;
  throw new KitError("options-invalid", `${what} is ${value}; it is a number from ${min} to 2147483647.`);
}
