/**
 * The response to a request whose token could not be verified, and the log entry.
 *
 * @module
 */
import { describeType, KitError } from "../../../core/protocol/errors.ts";
import type { Refused } from "../../../http/refusal.ts";
import { unavailable } from "./denials.ts";

/**
 * Returns a function that handles an error that occurred while a token was verified. It rethrows a `KitError`, which
 * reports a mistake of the author. It logs any other error, without the token, which an exception of the author's function
 * may contain, and refuses the request with 503.
 */
export function unverified(token: string): (error: unknown) => Refused {
  return (error) => {
    if (KitError.is(error)) throw error;
    console.error(`mcp-edge: an access token could not be verified: ${withoutToken(toText(error), token)}`);
    return unavailable();
  };
}

/** The maximum number of causes that are logged with an error. A chain of causes may be circular. @limit internal */
const CAUSES_MAX = 5;

/** Returns the stack of an error, and the stacks of its causes. */
function toText(error: unknown, causesMax = CAUSES_MAX): string {
  if (typeof error === "string") return error;
  if (!(error instanceof Error)) return describeType(error);
  const text = String(error.stack ?? error.message);
  return error.cause === undefined || causesMax === 0 ? text : `${text}\nCause: ${toText(error.cause, causesMax - 1)}`;
}

/** The minimum length of a part that is removed. Shorter parts, such as "e30", may also occur in ordinary text. */
const PART_MIN = 8;

/** Replaces a token, and each part of a JWT, because the error of a JWT parser may contain a single part. */
function withoutToken(text: string, token: string): string {
  const parts = [token, ...token.split(".").filter((part) => part.length >= PART_MIN)];
  const forms = parts.flatMap((part) => [part, encodeURIComponent(part)]);
  return forms.reduce((rest, form) => rest.replaceAll(form, "(token)"), text);
}
