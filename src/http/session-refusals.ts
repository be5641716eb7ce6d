/**
 * The refusals of sessions, apart from the others so that programs without sessions do not carry them.
 *
 * @module
 */
import { quote } from "../core/protocol/quote.ts";
import { invalid, type Refusal } from "./refusal.ts";

export const ALREADY_INITIALIZED: Refusal = {
  reason: "already-initialized",
  form: invalid(400, "This session is initialized already. Send initialize without Mcp-Session-Id to open another."),
};

export const SESSION_UNKNOWN: Refusal = {
  reason: "session-unknown",
  form: invalid(404, "The session is not known or has ended. Send initialize to open another."),
};

/** Not 404, which would say that the session is gone, and not an empty 200, after which clients come back at once. */
export const STREAM_OVER: Refusal = {
  reason: "stream-over",
  form: invalid(405, "The stream of this event id is over: nothing more will come on it.", { Allow: "POST, DELETE" }),
};

export function cursorInvalid(cursor: string): Refusal {
  return {
    reason: "cursor-invalid",
    form: invalid(400, `Last-Event-ID ${quote(cursor)} is no event id of this session.`),
  };
}

/** There is too much of something, and nobody knows until when. */
export function busy(message: string): Refusal {
  return { reason: "too-many", form: invalid(429, message, { "Retry-After": "60" }) };
}

/** @param what How much there is, of which limit. @param retryAfterS Seconds until there may be room again. */
export function tooMany(what: string, retryAfterS: number): Refusal {
  return {
    reason: "too-many",
    form: invalid(429, `Too much at once: ${what}.`, { "Retry-After": String(retryAfterS) }),
  };
}
