/** The shape of a row of the ladder: one request, the expected response, and the rule that requires it. */

import type { Era } from "./messages.ts";
import type { Ask } from "./wire.ts";

/**
 * The endpoint that a row is sent to: the reference server (with sessions, one page per list), or an endpoint of the
 * Workers in `test/worker/fixtures`.
 */
export type Endpoint = "reference" | "lab" | "plain" | "private" | "listed" | "open" | "small";

/** The expected response. Omitted members are not checked. */
export interface Expected {
  readonly status: number | readonly number[];
  /** Code of the JSON-RPC error. */
  readonly code?: number | readonly number[];
  /** Id of the response; null if it has none. If omitted, an error's id must be the request's or absent. */
  readonly id?: string | number | null;
  /** Must match the text of the error. */
  readonly names?: RegExp;
  /** Expected header values by lower-case name; null: the header is absent. */
  readonly headers?: Readonly<Record<string, RegExp | null>>;
  readonly contentType?: "application/json" | "text/event-stream";
  /** Members of the result. */
  readonly result?: Readonly<Record<string, unknown>>;
  /** Members of the error's data. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The whole body as JSON. */
  readonly message?: unknown;
  readonly body?: "empty";
}

export interface Row {
  readonly cell: string;
  readonly era: Era;
  readonly at: Endpoint;
  readonly ask: Ask;
  readonly expected: Expected;
  readonly why: string;
  /** True if an endpoint without sessions responds differently. */
  readonly isOfSessions: boolean;
}

interface Place {
  readonly at?: Endpoint;
  readonly isOfSessions?: boolean;
}

export function row(era: Era, cell: string, ask: Ask, expected: Expected, why: string, place: Place = {}): Row {
  const { at = "reference", isOfSessions = false } = place;
  return { cell, era, at, ask, expected, why, isOfSessions };
}

/** The same row in both eras. */
export function both(
  cell: string,
  ask: (era: Era) => Ask,
  expected: Expected,
  why: string,
  place: Place = {},
): readonly Row[] {
  return (["legacy", "modern"] as const).map((era) => row(era, cell, ask(era), expected, why, place));
}
