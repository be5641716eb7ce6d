/**
 * What identity providers have in common: how they are requested, and which errors their failures become.
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
 * Milliseconds that a provider has for an answer.
 * @limit ms The time that an identity provider has to answer. The user gets a page, and access goes on.
 */
const ANSWER_MS = 10_000;

/** This authorization server as a client of a provider. */
export interface ProviderClient {
  /** The name of the provider in errors. */
  readonly label: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** The limits of requests. A public provider cannot lead them into a private network. */
  readonly net: Net;
}

/** Returns how the provider at a URL is requested. */
export function createProviderClient(
  url: string,
  label: string,
  clientId: string,
  clientSecret: string | undefined,
): ProviderClient {
  const server = new URL(url);
  return { label, clientId, clientSecret, net: { server, fetch: fetchAnswer, timeoutMs: ANSWER_MS } };
}

/** Requests a URL. A service that is busy or broken counts as one that does not answer, whatever it answers. */
async function fetchAnswer(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { status } = response;
  if (status !== 429 && status < 500) return response;
  await response.body?.cancel();
  throw new Error(`status ${status}`);
}

/**
 * Checks the options that every provider has.
 *
 * @throws {KitError} `options-invalid` naming the option, never its value if that may be a secret.
 */
export function checkProvider(
  where: string,
  options: { id: string; clientId: unknown; clientSecret?: unknown; scopes?: unknown },
): void {
  const { id, clientId, clientSecret, scopes } = options;
  const invalid = (text: string) => new KitError("options-invalid", `${where}${text}`);
  if (!/^[a-z0-9-]{1,32}$/.test(id)) throw invalid(`id is ${quote(String(id))}; use 1 to 32 of a-z, 0-9 and "-".`);
  if (typeof clientId !== "string" || clientId === "")
    throw invalid("clientId is missing; write the id of your client.");
  // A secret that is not set would otherwise make a client without a secret.
  if ("clientSecret" in options && (typeof clientSecret !== "string" || clientSecret === "")) {
    throw invalid("clientSecret is not set. Set the secret: npx wrangler secret put NAME");
  }
  const isList = Array.isArray(scopes) && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  if (scopes !== undefined && !isList) throw invalid("scopes is not a list of scopes; a scope has no spaces.");
}

/** Sends a request for the provider, with the limits of the guard. @throws {IdentityError} `unavailable`, `misconfigured`. */
export function send({ label, net }: ProviderClient, url: string, init: RequestInit = {}): Promise<Response> {
  return request(net, label, url, init).catch((error: unknown) => {
    throw toFailure(label, error);
  });
}

/**
 * Returns the function with which oauth4webapi sends its requests. It is new for each use, because the library shares the
 * promises of equal functions, and a promise of one request cannot be awaited in another one on Workers.
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
 * Checks the URL with which the browser returned against the sign-in that was begun, and returns its parameters.
 *
 * @throws {IdentityError} `invalid`, `denied`, `unavailable`, `misconfigured`.
 */
export function readCallback(
  { label, clientId }: ProviderClient,
  server: AuthorizationServer,
  callbackUrl: string,
  kept: KeptSignIn,
): URLSearchParams {
  const invalid = (why: string) => new IdentityError("invalid", `The answer of ${label} was refused: ${why}.`);
  const { state, verifier, redirectUri, issuer } = kept;
  if (!state || !verifier || !redirectUri) throw invalid("nothing was kept for this sign-in");
  if (issuer !== server.issuer) throw invalid("the sign-in was begun at another issuer");
  if (!URL.canParse(callbackUrl)) throw invalid("it is not a URL");
  const url = new URL(callbackUrl);
  const expected = new URL(redirectUri);
  // Each provider has a redirect URI of its own, so the answer of another one ends here (RFC 9700, section 4.4.2.2).
  if (url.origin !== expected.origin || url.pathname !== expected.pathname) throw invalid("it came to another URL");
  try {
    // The library compares `iss` and `state` first, also if the answer is an error.
    const parameters = validateAuthResponse(server, { client_id: clientId }, url, state);
    if (!parameters.get("code")) throw invalid("it has no code");
    return parameters;
  } catch (error) {
    if (error instanceof IdentityError) throw error;
    if (!(error instanceof AuthorizationResponseError))
      throw invalid(error instanceof Error ? error.message : "unknown");
    const description = error.error_description ? `: ${quote(error.error_description)}` : "";
    throw new IdentityError(toReason(error.error), `${label} answered ${quote(error.error)}${description}.`);
  }
}

/** Codes with which the user's access has ended, or a code or token has expired. */
const SPENT = new Set(["invalid_grant", "bad_refresh_token", "bad_verification_code", "interaction_required"]);
const TEMPORARY = new Set(["server_error", "temporarily_unavailable", "slow_down"]);
const AUTHORS = new Set([
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

/** Returns what an error code of the authorization endpoint means. Unknown codes are refusals of the user. */
function toReason(code: string): IdentityReason {
  if (TEMPORARY.has(code)) return "unavailable";
  return AUTHORS.has(code) ? "misconfigured" : "denied";
}

/**
 * Requests new tokens.
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
  if (refreshToken === undefined) throw new IdentityError("revoked", `${label} issued no refresh token.`);
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

/** The token endpoint of a provider. */
export function getEndpoint({ net, clientId, clientSecret }: ProviderClient, server: AuthorizationServer) {
  return {
    net,
    server,
    clientId,
    authentication: createAuthentication(server, { id: clientId, secret: clientSecret }),
  };
}

/** Returns the tokens of an answer. @param old The tokens that they replace. What the answer leaves out stays valid. */
export function toTokens(answer: TokenEndpointResponse, old?: UpstreamTokens): UpstreamTokens {
  const { access_token, refresh_token, expires_in, scope } = answer;
  const refreshSeconds = Number(answer.refresh_token_expires_in ?? Number.NaN);
  const refreshExpiresAtMs = Number.isFinite(refreshSeconds) ? Date.now() + refreshSeconds * 1000 : undefined;
  return {
    accessToken: access_token,
    expiresAtMs: expires_in === undefined ? undefined : Date.now() + expires_in * 1000,
    refreshToken: refresh_token ?? old?.refreshToken,
    refreshExpiresAtMs: refreshExpiresAtMs ?? (refresh_token === undefined ? old?.refreshExpiresAtMs : undefined),
    // GitHub separates them by commas.
    scopes: scope === undefined ? old?.scopes : scope.split(/[ ,]+/).filter((each) => each !== ""),
  };
}

/**
 * Returns the error to throw in place of one of the library or of the guard. Their causes can contain tokens, so it has none.
 *
 * @param spent What it means that a code or token is refused.
 */
export function toFailure(label: string, error: unknown, spent: IdentityReason = "invalid"): IdentityError {
  if (error instanceof IdentityError) return error;
  if (error instanceof OAuthError) {
    if (error.error !== undefined) return refused(label, error.error, spent);
    const reason = error.reason === "unreachable" ? "unavailable" : "misconfigured";
    return new IdentityError(reason, `${label}: ${error.message}`);
  }
  if (error instanceof ResponseBodyError) return refused(label, error.error, spent);
  // Messages of the library name what is wrong with an answer, and repeat no part of it.
  return new IdentityError("invalid", `The answer of ${label} was refused: ${(error as Error).message}.`);
}

function refused(label: string, code: string, spent: IdentityReason): IdentityError {
  const reason = SPENT.has(code) ? spent : TEMPORARY.has(code) ? "unavailable" : "misconfigured";
  return new IdentityError(reason, `${label} refused the token request with ${quote(code)}.`);
}
