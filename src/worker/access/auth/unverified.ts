/**
 * The answer to requests whose token could not be verified, and the line in the log.
 *
 * @module
 */
import { describeType, KitError } from "../../../core/protocol/errors.ts";
import type { Refused } from "../../../http/refusal.ts";
import { unavailable } from "./denials.ts";

/**
 * Returns a function that answers a request whose token could not be verified. A mistake of the author is reported as one.
 * Any other error is logged as a text without the token, which an exception of the author's function may contain.
 */
export function unverified(token: string): (error: unknown) => Refused {
  return (error) => {
    if (KitError.is(error)) throw error;
    console.error(`mcp-edge: an access token could not be verified: ${withoutToken(toText(error), token)}`);
    return unavailable();
  };
}

/** Errors in a chain of causes that are logged. A chain may be a circle. @limit internal */
const CAUSES_MAX = 5;

/** Returns the stack of an error, and those of its causes. */
function toText(error: unknown, causesMax = CAUSES_MAX): string {
  if (typeof error === "string") return error;
  if (!(error instanceof Error)) return describeType(error);
  const text = String(error.stack ?? error.message);
  return error.cause === undefined || causesMax === 0 ? text : `${text}\nCause: ${toText(error.cause, causesMax - 1)}`;
}

/** The shortest part of a token that is removed. Shorter ones are words such as "e30". */
const PART_MIN = 8;

/** Replaces a token, and each part of a JWT, since a parser of JWTs may write only one into its error. */
function withoutToken(text: string, token: string): string {
  const parts = [token, ...token.split(".").filter((part) => part.length >= PART_MIN)];
  const forms = parts.flatMap((part) => [part, encodeURIComponent(part)]);
  return forms.reduce((rest, form) => rest.replaceAll(form, "(token)"), text);
}
