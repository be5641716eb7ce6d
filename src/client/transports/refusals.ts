/**
 * The errors for HTTP responses that refuse a message. Loaded on demand.
 *
 * @module
 */
import { ClientError, invalidAnswer, type RefusedResponse } from "../basics/errors.ts";

/** Characters of a refused body that an error keeps. */
const KEPT_CHARS = 2_000;

export interface Refused {
  readonly body: string;
  /** The values of the author's headers. */
  readonly given: readonly string[];
  /** Whether the response says that the server no longer knows the session. */
  readonly isGone: boolean;
}

/** Returns a text without the values of headers, which may be secrets: some servers repeat what they refuse. */
function withoutSecrets(text: string, values: readonly string[]): string {
  // A value such as "Bearer abc" may be repeated without its first word.
  const secrets = values.flatMap((value) => [value, value.replace(/^\S+\s+/, "")]).filter(({ length }) => length > 3);
  return secrets.reduce((all, secret) => all.replaceAll(secret, "[redacted]"), text);
}

/** Returns the error for a response that is not an answer. */
export function toRefusal(what: string, response: Response, { body, given, isGone }: Refused): ClientError {
  const text = withoutSecrets(body, given);
  const { status, headers } = response;
  const refused: RefusedResponse = { status, headers, body: text.slice(0, KEPT_CHARS) };
  if (isGone) {
    return new ClientError("session-lost", `The session is gone (404 to ${what}).`, {
      response: refused,
    });
  }
  if (response.ok) {
    const type = response.headers.get("content-type") || "no content type";
    return invalidAnswer(what, `the response (${status}, ${type}) has no answer`, refused);
  }
  const isRedirect = status < 400;
  // In a browser the status is 0, and the address is hidden.
  const detail = isRedirect ? `a redirect to ${headers.get("location")} is not followed` : text.slice(0, 200);
  return new ClientError("http-status", `${what} was refused with HTTP status ${status}${detail && `: ${detail}`}`, {
    response: refused,
    // A refusal of the request itself; only a failure or a redirect can follow a start of the work.
    mayHaveRun: isRedirect || status >= 500,
  });
}
