/** The shape of a row of the ladder: one request, the exact answer, and where that is written. */

import type { Era } from "./messages.ts";
import type { Ask } from "./wire.ts";

/**
 * Where a row is sent: the reference server (sessions, no lists), or an endpoint of the Workers in
 * `test/worker/fixtures`.
 */
export type Endpoint = "reference" | "lab" | "plain" | "private" | "listed" | "open" | "small";

/** What must come back. A member that is left out is not looked at. */
export interface Expected {
  readonly status: number | readonly number[];
  /** Code of the JSON-RPC error. */
  readonly code?: number | readonly number[];
  /** Id of the answer; null: it has none. Otherwise an error's id is the request's or absent. */
  readonly id?: string | number | null;
  /** What the error's text must name. */
  readonly names?: RegExp;
  /** Header values by lower-case name; null: the header is absent. */
  readonly headers?: Readonly<Record<string, RegExp | null>>;
  readonly contentType?: "application/json" | "text/event-stream";
  /** Members of the result. */
  readonly result?: Readonly<Record<string, unknown>>;
  /** Members of the error's data. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The whole body. */
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
  /** True: an endpoint without sessions answers something else. */
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
