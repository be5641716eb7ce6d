/**
 * The interfaces between each grant and the steps that all grants share.
 *
 * @module
 */
import type { AuthorizationServer, DPoPHandle, TokenEndpointResponse } from "oauth4webapi";
import type { FetchFunction } from "../transports/fetch-options.ts";
import type { OAuthClient } from "./client-authentication.ts";
import type { Net } from "./guard.ts";

/** The request for tokens that a {@link Grant} carries out. */
export interface GrantRequest {
  /** The metadata of the authorization server, with its `issuer`. */
  readonly server: AuthorizationServer;
  /** The value of the `resource` parameter, which identifies the MCP server. @see RFC 8707 */
  readonly resource: string;
  /** The scopes to request, separated by spaces. */
  readonly scope: string | undefined;
  /** How the grant makes requests of its own. */
  readonly net: Net;
  /** Aborts when no request waits for the tokens any more. */
  readonly signal: AbortSignal;
  /**
   * Returns the client to use at the authorization server. Without either argument, the client does not register itself.
   *
   * @param redirectUrl The redirect URL, for a registration for the authorization code grant.
   * @param grantType The grant type to register for, if the grant has no redirect.
   * @throws {OAuthError} `client-missing`, `registration-failed`, or `issuer-mismatch`.
   */
  client(redirectUrl?: string, grantType?: string): Promise<OAuthClient>;
  /**
   * Requests tokens at the token endpoint for a client, with its credentials. Parameters that are undefined are left out.
   *
   * @throws {OAuthError} `token-refused`, `token-invalid`, `unreachable`, or `address-refused`.
   */
  token(
    client: OAuthClient,
    grantType: string,
    parameters: Readonly<Record<string, string | undefined>>,
  ): Promise<TokenEndpointResponse>;
}

/** The outcome of a grant. */
export interface Granted {
  /** The client that the tokens belong to. */
  readonly client: OAuthClient;
  /** The answer of the token endpoint. */
  readonly answer: TokenEndpointResponse;
}

/** A way to obtain tokens without a redirect: `clientCredentials()`, `jwtBearer()`, `enterpriseManaged()`, `deviceCode()`. */
export interface Grant {
  /** Whether it involves a user. Then only calls of the program start it, not requests that the client makes by itself. */
  readonly isInteractive: boolean;
  /** Obtains tokens. @throws {OAuthError} if that fails. */
  run(request: GrantRequest): Promise<Granted>;
}

/** A key that tokens are bound to. */
export interface Proof {
  /** The key, for requests to token endpoints. */
  readonly handle: DPoPHandle;
  /** The key as text, which is stored with the tokens. Empty if the key is not stored. */
  readonly stored: string;
  /** Sends a request with a token and a proof. It is repeated once if the server wants a nonce in the proof. */
  send(accessToken: string, url: string, init: RequestInit, fetch: FetchFunction): Promise<Response>;
}

/** Creates and restores the keys that tokens are bound to. Returned by `dpopKeys()`. */
export interface ProofKeys {
  /** The signature algorithm of the proofs, such as `ES256`. */
  readonly algorithm: string;
  /** Returns a new key, or the key that was stored. @param stored The text of the stored key. */
  key(stored?: string): Promise<Proof>;
}
