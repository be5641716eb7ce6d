/**
 * Sends requests to identity providers, reads their responses, and converts their errors to an `IdentityError`.
 *
 * @module
 */
import {
  AuthorizationResponseError,
  type AuthorizationServer,
  ResponseBodyError,
  type TokenEndpointResponse,
  validateAuthResponse,
} from "oauth4webapi";
import { createAuthentication } from "../../client/oauth/client-authentication.ts";
import { OAuthError } from "../../client/oauth/errors.ts";
import { findObject, type Net, request } from "../../client/oauth/guard.ts";
import { requestToken } from "../../client/oauth/token-request.ts";
import { quote } from "../../core/basics/quote.ts";
import { KitError } from "../../core/protocol/errors.ts";
import { IdentityError, type IdentityReason, type KeptSignIn, type UpstreamTokens } from "./provider.ts";

/**
 * The time limit of a request to a provider, in milliseconds.
 * @limit ms A request to an identity provider. After it, the sign-in fails with a page, and existing access continues.
 */
const TIMEOUT_MS = 10_000;

/** This authorization server in its role as an OAuth client of a provider. */
export interface ProviderClient {
  /** The name of the provider in error messages. */
  readonly label: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** How requests are sent, and their limits. The metadata of a public provider cannot direct them to a private network. */
  readonly net: Net;
}

/** Creates the client of the provider at a URL. */
export function createProviderClient(
  url: string,
  label: string,
  clientId: string,
  clientSecret: string | undefined,
): ProviderClient {
  const server = new URL(url);
  return { label, clientId, clientSecret, net: { server, fetch: fetchResponse, timeoutMs: TIMEOUT_MS } };
}

/** Requests a URL. The statuses 429 and 5xx count as a missing response. */
async function fetchResponse(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { status } = response;
  if (status !== 429 && status < 500) return response;
  await response.body?.cancel();
  throw new Error(`status ${status}`);
}

/**
 * Checks the options that every provider has.
 *
 * @throws {KitError} `options-invalid` naming the option. The message never contains a value that may be a secret.
 */
export function checkProvider(
  where: string,
  options: { id: string; clientId: unknown; clientSecret?: unknown; scopes?: unknown },
): void {
  const { id, clientId, clientSecret, scopes } = options;
  const invalid = (text: string) => new KitError("options-invalid", `${where}${text}`);
  if (!/^[a-z0-9-]{1,32}$/.test(id)) throw invalid(`id is ${quote(String(id))}; use 1 to 32 of a-z, 0-9 and "-".`);
  if (typeof clientId !== "string" || clientId === "") throw invalid("clientId is missing.");
  // Without this check, a secret that is not set would silently create a public client.
  if ("clientSecret" in options && (typeof clientSecret !== "string" || clientSecret === "")) {
    throw invalid("clientSecret is not set; set it with: npx wrangler secret put NAME");
  }
  const isList = Array.isArray(scopes) && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  if (scopes !== undefined && !isList)
    throw invalid("scopes is not a list of scopes; write a list of strings without spaces.");
}

/** Sends a request to the provider, with its limits. @throws {IdentityError} `unavailable`, `misconfigured`. */
export function send({ label, net }: ProviderClient, url: string, init: RequestInit = {}): Promise<Response> {
  return request(net, label, url, init).catch((error: unknown) => {
    throw toFailure(label, error);
  });
}

/**
 * Returns the function with which oauth4webapi sends its requests. Each call creates a new function: the library shares promises
 * between uses of the same function, and on Workers a promise of one request cannot be awaited in another request.
 */
export function findSender(client: ProviderClient): (url: string, init: object) => Promise<Response> {
  return async (url, init) => {
    const response = await send(client, url, init);
    const value = await findObject(response);
    const status = typeof value?.error === "string" && response.ok ? 400 : response.status;
    return new Response(JSON.stringify(value ?? {}), { status, headers: { "content-type": "application/json" } });
  };
}

/**
 * Checks that the URL with which the browser returned belongs to the sign-in, and returns its parameters.
 *
 * @throws {IdentityError} `invalid`, `denied`, `unavailable`, `misconfigured`.
 */
export function readCallback(
  { label, clientId }: ProviderClient,
  server: AuthorizationServer,
  callbackUrl: string,
  kept: KeptSignIn,
): URLSearchParams {
  const invalid = (why: string) => new IdentityError("invalid", `The response of ${label} was refused: ${why}.`);
  const { state, verifier, redirectUri, issuer } = kept;
  if (!state || !verifier || !redirectUri) throw invalid("its stored values are incomplete");
  if (issuer !== server.issuer) throw invalid("the sign-in was started at another issuer");
  if (!URL.canParse(callbackUrl)) throw invalid("it is not a URL");
  const url = new URL(callbackUrl);
  const expected = new URL(redirectUri);
  // Each provider has its own redirect URI, so a response of another provider is refused here (RFC 9700, section 4.4.2.2).
  if (url.origin !== expected.origin || url.pathname !== expected.pathname) throw invalid("it was sent to another URL");
  try {
    // The library compares `iss` and `state` first, even if the response is an error.
    const parameters = validateAuthResponse(server, { client_id: clientId }, url, state);
    if (!parameters.get("code")) throw invalid("it has no code");
    return parameters;
  } catch (error) {
    if (error instanceof IdentityError) throw error;
    if (!(error instanceof AuthorizationResponseError))
      throw invalid(error instanceof Error ? error.message : "unknown");
    const description = error.error_description ? `: ${quote(error.error_description)}` : "";
    throw new IdentityError(toReason(error.error), `${label} returned the error ${quote(error.error)}${description}.`);
  }
}

/** Error codes for a user whose access was revoked, and for codes and tokens that have expired. */
const SPENT = new Set(["invalid_grant", "bad_refresh_token", "bad_verification_code", "interaction_required"]);
/** Error codes for temporary failures of the provider. */
const TEMPORARY = new Set(["server_error", "temporarily_unavailable", "slow_down"]);
/** Error codes for a client that the author has configured wrongly. */
const CONFIGURATION = new Set([
  "invalid_request",
  "invalid_client",
  "unauthorized_client",
  "unsupported_response_type",
  "unsupported_grant_type",
  "invalid_scope",
  "incorrect_client_credentials",
  "redirect_uri_mismatch",
  "application_suspended",
]);

/** Returns the reason for an error code of the authorization endpoint. Unknown codes mean that the user declined. */
function toReason(code: string): IdentityReason {
  if (TEMPORARY.has(code)) return "unavailable";
  return CONFIGURATION.has(code) ? "misconfigured" : "denied";
}

/**
 * Exchanges a refresh token for new tokens.
 *
 * @throws {IdentityError} `revoked` if the refresh token no longer works; `unavailable`, `misconfigured`.
 */
export async function refreshTokens(
  client: ProviderClient,
  server: AuthorizationServer,
  tokens: UpstreamTokens,
): Promise<UpstreamTokens> {
  const { label } = client;
  const { refreshToken, refreshExpiresAtMs } = tokens;
  if (refreshToken === undefined) throw new IdentityError("revoked", `${label} did not issue a refresh token.`);
  if (refreshExpiresAtMs !== undefined && refreshExpiresAtMs <= Date.now()) {
    throw new IdentityError("revoked", `The refresh token of ${label} has expired.`);
  }
  try {
    const parameters = { refresh_token: refreshToken };
    return toTokens(await requestToken(getEndpoint(client, server), "refresh_token", parameters), tokens);
  } catch (error) {
    throw toFailure(label, error, "revoked");
  }
}

/** Returns the token endpoint of a provider, with the authentication of the client. */
export function getEndpoint({ net, clientId, clientSecret }: ProviderClient, server: AuthorizationServer) {
  return {
    net,
    server,
    clientId,
    authentication: createAuthentication(server, { id: clientId, secret: clientSecret }),
  };
}

/** Returns the tokens of a token response. @param old The tokens that they replace. Values that the response omits are kept. */
export function toTokens(response: TokenEndpointResponse, old?: UpstreamTokens): UpstreamTokens {
  const { access_token, refresh_token, expires_in, scope } = response;
  const refreshSeconds = Number(response.refresh_token_expires_in ?? Number.NaN);
  const refreshExpiresAtMs = Number.isFinite(refreshSeconds) ? Date.now() + refreshSeconds * 1000 : undefined;
  return {
    accessToken: access_token,
    expiresAtMs: expires_in === undefined ? undefined : Date.now() + expires_in * 1000,
    refreshToken: refresh_token ?? old?.refreshToken,
    refreshExpiresAtMs: refreshExpiresAtMs ?? (refresh_token === undefined ? old?.refreshExpiresAtMs : undefined),
    // GitHub separates scopes with commas.
    scopes: scope === undefined ? old?.scopes : scope.split(/[ ,]+/).filter((each) => each !== ""),
  };
}

/**
 * Converts an error of oauth4webapi or of a request to an `IdentityError`. The result has no `cause`, which could contain tokens.
 *
 * @param spent The reason for a code or token that is refused.
 */
export function toFailure(label: string, error: unknown, spent: IdentityReason = "invalid"): IdentityError {
  if (error instanceof IdentityError) return error;
  if (error instanceof OAuthError) {
    if (error.error !== undefined) return refused(label, error.error, spent);
    const reason = error.reason === "unreachable" ? "unavailable" : "misconfigured";
    return new IdentityError(reason, `${label}: ${error.message}`);
  }
  if (error instanceof ResponseBodyError) return refused(label, error.error, spent);
  // The messages of the library describe the fault of a response, and do not repeat any part of it.
  return new IdentityError("invalid", `The response of ${label} was refused: ${(error as Error).message}.`);
}

function refused(label: string, code: string, spent: IdentityReason): IdentityError {
  const reason = SPENT.has(code) ? spent : TEMPORARY.has(code) ? "unavailable" : "misconfigured";
  return new IdentityError(reason, `${label} refused the token request with ${quote(code)}.`);
}
