import { ClientError } from "../basics/errors.ts";

/**
 * Why no access token could be obtained:
 *
 * - `insecure`: credentials would travel over plain HTTP beyond this machine.
 * - `address-refused`: a server named a URL that must not be requested, such as one in a private network.
 * - `unreachable`: a server did not answer in time, or not at all.
 * - `discovery-failed`: the metadata of the server or of its authorization server is missing or invalid.
 * - `resource-mismatch`: the metadata of the MCP server describes another server.
 * - `issuer-mismatch`: the authorization server is not the one that was expected.
 * - `pkce-missing`: the authorization server does not advertise PKCE with S256.
 * - `client-missing`: there is no way to get a client id. See `client` and `clientMetadataUrl`.
 * - `registration-failed`: the authorization server refused to register the client.
 * - `redirect-needed`: the user has to open `url`, and `finish()` then ends the sign-in.
 * - `redirect-failed`: the redirect handler could not show the page, or threw. See `cause`.
 * - `answer-invalid`: the answer to the authorization request does not belong to it.
 * - `access-denied`: the authorization server answered the authorization request with an error. See `error`.
 * - `token-refused`: the token endpoint refused the request. See `error`.
 * - `token-invalid`: the token endpoint did not answer with a usable token.
 * - `expired`: the sign-in took too long, or no request waits for it any more.
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

/** The details of an {@link OAuthError}. */
export interface OAuthErrorFacts {
  /** The URL that the user has to open, for `redirect-needed`. */
  readonly url?: string | undefined;
  /** The error code of the authorization server, such as `invalid_grant`. */
  readonly error?: string | undefined;
  /** The HTTP status of the refusal by the authorization server. */
  readonly status?: number | undefined;
  /** The error that caused this one. It never contains a token. */
  readonly cause?: unknown;
}

/**
 * Thrown when no access token can be obtained. Its `code` is `sign-in-failed`, and its `reason` says why. The request to the
 * MCP server was not sent, or was refused.
 */
export class OAuthError extends ClientError {
  /** The class of the error. */
  override readonly name: string = "OAuthError";
  /** Why no access token could be obtained, for programs. */
  readonly reason: OAuthReason;
  /** The URL that the user has to open, for `redirect-needed`. */
  readonly url: string | undefined;
  /** The error code of the authorization server, such as `invalid_grant`. */
  readonly error: string | undefined;
  /** The HTTP status of the refusal by the authorization server. */
  readonly status: number | undefined;

  /** Creates an error. A redirect handler, a grant or a store of your own can throw it, too. */
  constructor(reason: OAuthReason, message: string, facts: OAuthErrorFacts = {}) {
    super("sign-in-failed", message, { cause: facts.cause });
    this.reason = reason;
    this.url = facts.url;
    this.error = facts.error;
    this.status = facts.status;
  }
}
