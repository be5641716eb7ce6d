/**
 * One run of a handler: its input and its outcome.
 *
 * @module
 */
import type { HandlerInput, HandlerRun } from "../define/handler-run.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";

/** The input of a round from the previous round. */
export interface Round extends HandlerInput {
  readonly replay?: SuspendableRun | undefined;
}

/** The result of a run that waits for an answer. */
export const SUSPENDED: unique symbol = Symbol.for("mcp-edge.suspended");

/** One run of a handler that may be run again. */
export interface SuspendableRun extends HandlerRun {
  /** Resolves when the run cannot continue without an answer. */
  readonly suspended: Promise<typeof SUSPENDED>;
}

export const FIRST_ROUND: Round = { inputResponses: {}, requestState: undefined };

/** The final return value of a handler, or the result that asks the client. */
export type RoundsOutcome = { readonly returned: unknown } | { readonly asked: JsonObject };
