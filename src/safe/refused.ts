/**
 * The error with which the helpers refuse a value.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import { ToolError } from "../core/protocol/errors.ts";

/** Why a {@link RefusedError} was thrown. */
export type RefusedReason =
  | "path"
  | "uri"
  | "address"
  | "redirect"
  | "response"
  | "command"
  | "sql"
  | "media-type"
  | "too-large"
  | "timeout";

/**
 * Thrown when a helper refuses a value that may come from a model or another outsider. It is a `ToolError`, so if the
 * handler of a tool does not catch it, the model reads its text and can correct the value. The text repeats at most the
 * refused value; it contains no address, file name or answer that the caller did not already know.
 */
export class RefusedError extends ToolError {
  /** What was refused. */
  readonly reason: RefusedReason;

  /** Creates a refusal whose text the model reads. */
  constructor(reason: RefusedReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Returns the refusal of a value, which the text repeats. */
export function refusedValue(reason: RefusedReason, what: string, value: unknown, why: string): RefusedError {
  const shown = typeof value === "string" ? ` ${quote(value)}` : "";
  return new RefusedError(reason, `The ${what}${shown} was refused: ${why}.`);
}
