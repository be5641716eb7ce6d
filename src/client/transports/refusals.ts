/**
 * The errors for HTTP responses with which a server refuses a message. Loaded on demand.
 *
 * @module
 */
import { ClientError, invalidAnswer, type RefusedResponse } from "../basics/errors.ts";

/** The maximum number of characters of a response body that an error contains. */
const KEPT_CHARS = 2_000;

/** Facts about a refusal in addition to the response. */
export interface RefusalDetails {
  readonly body: string;
  /** The values of the headers from the options. */
  readonly given: readonly string[];
  /** Whether the response says that the server no longer knows the session. */
  readonly isGone: boolean;
}

/** Removes the values of headers from a text, because they may be secrets, and some servers quote what they refuse. */
function withoutSecrets(text: string, values: readonly string[]): string {
  // A value such as "Bearer abc" may be quoted without its first word.
  const secrets = values.flatMap((value) => [value, value.replace(/^\S+\s+/, "")]).filter(({ length }) => length > 3);
  return secrets.reduce((all, secret) => all.replaceAll(secret, "[redacted]"), text);
}

/** Returns the error for an HTTP response without a JSON-RPC response. */
export function toRefusal(what: string, response: Response, { body, given, isGone }: RefusalDetails): ClientError {
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
    return invalidAnswer(what, `it (${status}, ${type}) contains no message`, refused);
  }
  const isRedirect = status < 400;
  // In a browser the status of a redirect is 0, and its target is hidden.
  const detail = isRedirect ? `a redirect to ${headers.get("location")} is not followed` : text.slice(0, 200);
  return new ClientError("http-status", `${what} was refused with HTTP status ${status}${detail && `: ${detail}`}`, {
    response: refused,
    // A status of 400 to 499 refuses the request before it runs. The server can redirect or fail after the request has started.
    mayHaveRun: isRedirect || status >= 500,
  });
}
