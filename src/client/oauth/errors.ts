import { ClientError } from "../basics/errors.ts";

/**
 * The reason why no access token could be obtained:
 *
 * - `insecure`: credentials would be sent to another machine without TLS.
 * - `address-refused`: a server named a URL that must not be requested, such as a URL in a private network.
 * - `unreachable`: a server did not respond, or did not respond in time.
 * - `discovery-failed`: the metadata of the server or of its authorization server is missing or invalid.
 * - `resource-mismatch`: the metadata of the MCP server describes another server.
 * - `issuer-mismatch`: the authorization server is not the one that was expected.
 * - `pkce-missing`: the authorization server does not support PKCE with S256.
 * - `client-missing`: no client id could be obtained. See `client` and `clientMetadataUrl`.
 * - `registration-failed`: the authorization server refused to register the client.
 * - `redirect-needed`: the user has to open `url`. `finish()` then completes the sign-in.
 * - `redirect-failed`: the redirect handler threw. See `cause`.
 * - `answer-invalid`: the authorization response is invalid, or does not belong to an open sign-in.
 * - `access-denied`: the authorization response is an error. See `error`.
 * - `token-refused`: the token endpoint refused the request. See `error`.
 * - `token-invalid`: the response of the token endpoint contains no usable token.
 * - `expired`: the sign-in took too long, or no request waits for it.
 * - `store-failed`: the lock of the store could not be obtained.
 */
export type OAuthReason =
  | "insecure"
  | "address-refused"
  | "unreachable"
  | "discovery-failed"
  | "resource-mismatch"
  | "issuer-mismatch"
  | "pkce-missing"
  | "client-missing"
  | "registration-failed"
  | "redirect-needed"
  | "redirect-failed"
  | "answer-invalid"
  | "access-denied"
  | "token-refused"
  | "token-invalid"
  | "expired"
  | "store-failed";

/** Details of an {@link OAuthError}. */
export interface OAuthErrorFacts {
  /** The URL that the user has to open, for `redirect-needed`. */
  readonly url?: string | undefined;
  /** The error code of the authorization server, such as `invalid_grant`. */
  readonly error?: string | undefined;
  /** The HTTP status with which the authorization server refused the request. */
  readonly status?: number | undefined;
  /** The error that caused this one. It never contains a token. */
  readonly cause?: unknown;
}

/**
 * Thrown when no access token can be obtained. The `code` is `sign-in-failed`, and the `reason` says why. The request to the MCP server
 * was not sent, or was refused.
 */
export class OAuthError extends ClientError {
  /** The class of the error. */
  override readonly name: string = "OAuthError";
  /** The reason why no access token could be obtained. */
  readonly reason: OAuthReason;
  /** The URL that the user has to open, for `redirect-needed`. */
  readonly url: string | undefined;
  /** The error code of the authorization server, such as `invalid_grant`. */
  readonly error: string | undefined;
  /** The HTTP status with which the authorization server refused the request. */
  readonly status: number | undefined;

  /** Creates an error, for a redirect handler, a grant or a store of your own. */
  constructor(reason: OAuthReason, message: string, facts: OAuthErrorFacts = {}) {
    super("sign-in-failed", message, { cause: facts.cause });
    this.reason = reason;
    this.url = facts.url;
    this.error = facts.error;
    this.status = facts.status;
  }
}
