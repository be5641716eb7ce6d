/**
 * The interfaces of grants, and of the keys that tokens are bound to.
 *
 * @module
 */
import type { AuthorizationServer, DPoPHandle, TokenEndpointResponse } from "oauth4webapi";
import type { FetchFunction } from "../transports/fetch-options.ts";
import type { OAuthClient } from "./client-authentication.ts";
import type { Net } from "./guard.ts";

/** The request for tokens that is passed to a {@link Grant}. */
export interface GrantRequest {
  /** The metadata of the authorization server, with its `issuer`. */
  readonly server: AuthorizationServer;
  /** The value of the `resource` parameter, which identifies the MCP server. @see RFC 8707 */
  readonly resource: string;
  /** The scopes to request, separated by spaces. */
  readonly scope: string | undefined;
  /** Sends other requests of the grant. */
  readonly net: Net;
  /** Aborts when no request waits for the tokens. */
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
   * Requests tokens at the token endpoint with the credentials of a client. Undefined parameters are omitted.
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
  /** The client to which the tokens were issued. */
  readonly client: OAuthClient;
  /** The response of the token endpoint. */
  readonly response: TokenEndpointResponse;
}

/** A way to obtain tokens without a redirect: `clientCredentials()`, `jwtBearer()`, `enterpriseManaged()`, `deviceCode()`. */
export interface Grant {
  /** Whether the grant involves a user. If true, only calls of the program start it, not requests that the client sends by itself. */
  readonly isInteractive: boolean;
  /** Obtains tokens. @throws {OAuthError} if that fails. */
  run(request: GrantRequest): Promise<Granted>;
}

/** A key that tokens are bound to. */
export interface DpopKey {
  /** The key for requests to token endpoints. */
  readonly handle: DPoPHandle;
  /** The serialized key, which is stored with the tokens. Empty if the key is not stored. */
  readonly stored: string;
  /** Sends a request with a token and a proof. It is repeated once if the server requires a nonce in the proof. */
  send(accessToken: string, url: string, init: RequestInit, fetch: FetchFunction): Promise<Response>;
}

/** Creates and restores the keys that tokens are bound to. Returned by `dpopKeys()`. */
export interface DpopKeys {
  /** The signature algorithm of the proofs, such as `ES256`. */
  readonly algorithm: string;
  /** Returns a stored key, or a new key. @param stored The serialized key. */
  key(stored?: string): Promise<DpopKey>;
}
