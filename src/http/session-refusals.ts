/**
 * Refusals of requests that use sessions. In a separate module, so that they are bundled only with sessions.
 *
 * @module
 */
import { quote } from "../core/basics/quote.ts";
import { invalid, type Refusal } from "./refusal.ts";

export const ALREADY_INITIALIZED: Refusal = {
  reason: "already-initialized",
  form: invalid(
    400,
    "This session is already initialized. Send initialize without Mcp-Session-Id to open a new session.",
  ),
};

export const SESSION_UNKNOWN: Refusal = {
  reason: "session-unknown",
  form: invalid(404, "The session is unknown or has ended. Send initialize to open a new session."),
};

export const SCOPE_MISSING: Refusal = {
  reason: "scope-missing",
  form: invalid(403, "The call of this stream needs a scope that the token lacks."),
};

const ALLOW = { Allow: "POST, DELETE" };

/**
 * The status is neither 404, which would mean that the session has ended, nor 200 with an empty body, after which
 * clients reconnect immediately.
 */
export const STREAM_OVER: Refusal = {
  reason: "stream-over",
  form: invalid(405, "This stream has ended.", ALLOW),
};

/** The refusal of a GET without an event id, if the server only sends messages on the streams of calls. */
export const NO_STREAM: Refusal = {
  reason: "no-stream",
  form: invalid(405, "This server sends nothing outside of calls.", ALLOW),
};

export function cursorInvalid(cursor: string): Refusal {
  return {
    reason: "cursor-invalid",
    form: invalid(400, `Last-Event-ID ${quote(cursor)} is not an event id of this session.`),
  };
}

/** Returns a 429 refusal for a limit that may stay exceeded for an unknown time. */
export function busy(message: string): Refusal {
  return { reason: "too-many", form: invalid(429, message, { "Retry-After": "60" }) };
}

/**
 * Returns a 429 refusal.
 *
 * @param what The current number and the limit.
 * @param retryAfterS The number of seconds after which the client may try again.
 */
export function tooMany(what: string, retryAfterS: number): Refusal {
  return {
    reason: "too-many",
    form: invalid(429, `A limit is reached: ${what}.`, { "Retry-After": String(retryAfterS) }),
  };
}
