/**
 * The error that the helpers throw when they refuse a value.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import { ToolError } from "../core/protocol/errors.ts";

/** What was refused by a helper. */
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
 * Thrown when a helper refuses a value that may come from a model or another untrusted source. It is a `ToolError`, so if the
 * handler of a tool does not catch it, the model reads the message and can correct the value. The message contains at most the
 * refused value. It does not reveal addresses, file names or responses to the caller.
 */
export class RefusedError extends ToolError {
  /** What was refused. */
  readonly reason: RefusedReason;

  /** Creates an error. @param message The message, which the model reads. */
  constructor(reason: RefusedReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Creates the error for a refused value. The message contains the value if it is a string. */
export function refusedValue(reason: RefusedReason, what: string, value: unknown, why: string): RefusedError {
  const shown = typeof value === "string" ? ` ${quote(value)}` : "";
  return new RefusedError(reason, `The ${what}${shown} was refused: ${why}.`);
}
