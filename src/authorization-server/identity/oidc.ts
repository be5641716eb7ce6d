/**
 * Sign-in with an OpenID Connect provider.
 *
 * @module
 * @see OpenID Connect Core 1.0 and OpenID Connect Discovery 1.0; RFC 9700; RFC 9207
 */
import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  customFetch,
  generateRandomCodeVerifier,
  generateRandomNonce,
  getValidatedIdTokenClaims,
  processAuthorizationCodeResponse,
  type TokenEndpointResponse,
  validateApplicationLevelSignature,
} from "oauth4webapi";
import { createAuthentication } from "../../client/oauth/client-authentication.ts";
import { checkAddress, findObject } from "../../client/oauth/guard.ts";
import { quote } from "../../core/basics/quote.ts";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { checkUrl } from "../../worker/access/auth/fetch-json.ts";
import { readUser } from "./claims.ts";
import { IdentityError, type IdentityProvider, type SignInRequest, type StartedSignIn } from "./provider.ts";
import {
  checkProvider,
  createProviderClient,
  findSender,
  type ProviderClient,
  readCallback,
  refreshTokens,
  send,
  toFailure,
  toTokens,
} from "./provider-requests.ts";

/** Options of {@link oidc}. */
export interface OidcOptions {
  /** The issuer, exactly as in its metadata, such as `https://accounts.google.com`. */
  readonly issuer: string;
  /** The client id that the provider has assigned. */
  readonly clientId: string;
  /** The client secret, from a secret of the Worker. Omit it only for a public client. */
  readonly clientSecret?: string | undefined;
  /** The scopes to request. `openid` is always added. @default ["openid", "email", "profile"] */
  readonly scopes?: readonly string[];
  /** The last segment of the redirect URI. It must be different for each provider. @default "oidc" */
  readonly id?: string;
  /** The name that is shown to users. @default the host of the issuer */
  readonly label?: string;
  /** The claim that lists the user's organisations or groups, such as `groups`. @default none */
  readonly organisationsClaim?: string;
  /** Additional parameters of the authorization request, such as `{ hd: "example.com" }` or `{ prompt: "consent" }`. */
  readonly parameters?: Readonly<Record<string, string>>;
}

const OPTIONS: OptionTable<OidcOptions> = {
  issuer: null,
  clientId: null,
  clientSecret: null,
  scopes: null,
  id: null,
  label: null,
  organisationsClaim: null,
  parameters: null,
};

/** Parameters that are relevant to security, which the author cannot set. */
const OWN =
  /^(response_(type|mode)|client_id|client_secret|redirect_uri|scope|state|nonce|code_challenge(_method)?|request(_uri)?)$/;

/** How long an isolate caches the metadata of a provider, in milliseconds. */
const METADATA_MS = 600_000;

/**
 * Lets users sign in with an OpenID Connect provider, using the authorization code flow with state, nonce and PKCE (S256). The
 * provider's metadata is requested at the first sign-in. An ID token is accepted only if it is signed with one of the provider's
 * keys, and names exactly this issuer, client and nonce.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function oidc(options: OidcOptions): IdentityProvider {
  checkOptions("oidc(): ", options, OPTIONS);
  const { issuer, clientId, clientSecret, organisationsClaim, parameters = {} } = options;
  checkUrl("oidc(): issuer", issuer);
  const { id = "oidc", label = new URL(issuer).host } = options;
  const scopes = new Set(["openid", ...(options.scopes ?? ["email", "profile"])]);
  checkProvider("oidc(): ", { ...options, id, scopes: [...scopes] });
  const own = Object.keys(parameters).find((name) => OWN.test(name));
  if (own !== undefined) throw new KitError("options-invalid", `oidc(): parameters contains ${quote(own)}; remove it.`);

  const client = createProviderClient(issuer, label, clientId, clientSecret);
  const metadata = createMetadata(client, issuer);
  const toUser = (subject: string, claims: JsonObject) => readUser(issuer, subject, claims, organisationsClaim);
  const requested = { ...parameters, scope: [...scopes].join(" ") };
  return {
    id,
    label,
    issuer,
    begin: async (request) => createAuthorizationRequest(client, await metadata(), request, requested),
    finish: async (callbackUrl, kept) => {
      const server = await metadata();
      const code = readCallback(client, server, callbackUrl, kept);
      const { nonce, redirectUri = "", verifier = "" } = kept;
      if (!nonce) throw new IdentityError("invalid", `The sign-in at ${label} has no nonce.`);
      const response = await redeem(client, server, { code, redirectUri, verifier, nonce });
      const { subject, claims } = readIdToken(client, response);
      const isComplete = typeof claims.email === "string" && typeof claims.name === "string";
      const more = isComplete ? {} : await requestUserInfo(client, server, response.access_token, subject);
      return { user: toUser(subject, mergeClaims(claims, more)), tokens: toTokens(response) };
    },
    refresh: async (tokens) => refreshTokens(client, await metadata(), tokens),
    check: async ({ accessToken }, user) => {
      const info = await requestUserInfo(client, await metadata(), accessToken, user.subject);
      const { claims, name, email, emailVerified: email_verified, organisations } = user;
      const listed = organisationsClaim === undefined ? {} : { [organisationsClaim]: organisations };
      // A claim that the endpoint omits keeps its value, because it may have been in the ID token only.
      const known = { ...claims, ...listed, name, email, email_verified } as JsonObject;
      return toUser(user.subject, mergeClaims(info, known));
    },
  };
}

/** Returns the URL of the authorization request, and the values that `finish()` compares with the response. */
async function createAuthorizationRequest(
  { label, clientId, net }: ProviderClient,
  server: AuthorizationServer,
  { redirectUri, state }: SignInRequest,
  parameters: Readonly<Record<string, string>>,
): Promise<StartedSignIn> {
  const url = await checkAddress(net, "authorization_endpoint", server.authorization_endpoint).catch(
    (error: unknown) => {
      throw toFailure(label, error);
    },
  );
  const kept = {
    state,
    redirectUri,
    issuer: server.issuer,
    nonce: generateRandomNonce(),
    verifier: generateRandomCodeVerifier(),
  };
  const all = {
    ...parameters,
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    nonce: kept.nonce,
    code_challenge: await calculatePKCECodeChallenge(kept.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return { url: url.href, kept };
}

type Claims = JsonObject & { readonly sub?: string };

/** Returns a function that requests the metadata of the provider and caches it. */
function createMetadata(client: ProviderClient, issuer: string): () => Promise<AuthorizationServer> {
  const { label } = client;
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  let known: { readonly server: AuthorizationServer; readonly requestedAtMs: number } | undefined;
  return async () => {
    if (known && Date.now() - known.requestedAtMs < METADATA_MS) return known.server;
    const requestedAtMs = Date.now();
    const found = await findObject(await send(client, url));
    if (!found) throw new IdentityError("misconfigured", `${label} did not return metadata at ${url}.`);
    if (found.issuer !== issuer) {
      const named = quote(String(found.issuer));
      throw new IdentityError("misconfigured", `The metadata of ${issuer} names another issuer: ${named}.`);
    }
    known = { server: found as unknown as AuthorizationServer, requestedAtMs };
    return known.server;
  };
}

interface Redeemable {
  readonly code: URLSearchParams;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly nonce: string;
}

/** Exchanges a code for tokens, and verifies the ID token: its claims first, then its signature. */
async function redeem(
  client: ProviderClient,
  server: AuthorizationServer,
  { code, redirectUri, verifier, nonce }: Redeemable,
): Promise<TokenEndpointResponse> {
  const { clientId, clientSecret, label } = client;
  const oauthClient = { client_id: clientId };
  const authentication = createAuthentication(server, { id: clientId, secret: clientSecret });
  // The function that sends the requests refuses plain HTTP for all hosts except loopback addresses.
  const options = { [allowInsecureRequests]: true, [customFetch]: findSender(client) };
  try {
    const request = [server, oauthClient, authentication, code, redirectUri, verifier, options] as const;
    const response = await authorizationCodeGrantRequest(...request);
    const expected = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await processAuthorizationCodeResponse(server, oauthClient, response, expected);
    await validateApplicationLevelSignature(server, response, options);
    return tokens;
  } catch (error) {
    throw toFailure(label, error);
  }
}

/**
 * Returns the subject and the other claims of a verified ID token.
 *
 * @throws {IdentityError} `invalid` if the token has no subject, or was issued to another client.
 */
function readIdToken({ label, clientId }: ProviderClient, response: TokenEndpointResponse) {
  const { sub: subject = "", azp = clientId, ...claims } = (getValidatedIdTokenClaims(response) ?? {}) as Claims;
  if (subject === "") throw new IdentityError("invalid", `The ID token of ${label} has no subject.`);
  // The library checks `azp` only if there are several audiences (OpenID Connect Core 1.0, section 3.1.3.7).
  if (azp !== clientId) throw new IdentityError("invalid", `The ID token of ${label} is for another client.`);
  return { subject, claims };
}

/**
 * Requests the claims of the UserInfo endpoint. Returns no claims if the provider does not have this endpoint.
 *
 * @throws {IdentityError} `revoked` if the token no longer works or belongs to another user; `unavailable`, `misconfigured`.
 */
async function requestUserInfo(
  client: ProviderClient,
  { userinfo_endpoint }: AuthorizationServer,
  accessToken: string,
  subject: string,
): Promise<JsonObject> {
  if (userinfo_endpoint === undefined) return {};
  const headers = { Accept: "application/json", Authorization: `Bearer ${accessToken}` };
  const response = await send(client, userinfo_endpoint, { headers });
  const { label } = client;
  if (response.status === 401) throw new IdentityError("revoked", `${label} no longer accepts the user's token.`);
  const claims = response.ok ? await findObject(response) : undefined;
  if (!claims) throw new IdentityError("unavailable", `${label} did not return claims: status ${response.status}.`);
  // OpenID Connect Core 1.0, section 5.3.4: with another `sub`, the claims belong to another user.
  if (claims.sub !== subject) throw new IdentityError("revoked", `${label} returned the claims of another user.`);
  return claims;
}

/**
 * Returns `claims`, completed from `more`. `email` and `email_verified` are taken from the same source, so that one source cannot
 * mark the address of the other as verified.
 */
function mergeClaims(claims: JsonObject, more: JsonObject): JsonObject {
  const isSame = claims.email === more.email && claims.email_verified === undefined;
  const { email, email_verified } = typeof claims.email !== "string" || isSame ? more : claims;
  return { ...more, ...claims, email, email_verified } as JsonObject;
}
