/**
 * The authorization code grant: the user signs in at the authorization server, and the browser returns with a code.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Authorization Flow Steps" and "Authorization Response Validation"
 */
import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from "oauth4webapi";
import { untilAborted } from "../basics/deadline.ts";
import { ClientError, toText } from "../basics/errors.ts";
import type { OAuthClient } from "./client-authentication.ts";
import { OAuthError } from "./errors.ts";
import type { Granted, GrantRequest } from "./grant.ts";
import { checkAddress } from "./guard.ts";
import type { OpenRedirect } from "./redirect.ts";
import { omitEmpty } from "./token-request.ts";

/** The state of a sign-in, which is needed when the browser returns. */
export interface Pending {
  readonly state: string;
  readonly verifier: string;
  readonly redirectUrl: string;
  readonly client: OAuthClient;
}

/** The parameters of one sign-in. */
export interface SignIn {
  readonly redirect: OpenRedirect;
  /** The thumbprint of the key that tokens are bound to. */
  readonly thumbprint: string | undefined;
  /** How long the user may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Stores the state of a deferred sign-in for `finish()`. */
  defer(pending: Pending): Promise<void>;
}

/**
 * Lets the user sign in, and requests tokens.
 *
 * @throws {OAuthError} `pkce-missing`, `redirect-needed`, `redirect-failed`, `expired`, `answer-invalid`, `access-denied`, and the
 *   reasons of the registration and of the token request.
 */
export async function signIn(
  request: GrantRequest,
  { redirect, thumbprint, timeoutMs, defer }: SignIn,
): Promise<Granted> {
  const { server, resource, scope, net, signal } = request;
  if (!server.code_challenge_methods_supported?.includes("S256")) {
    const text = `${server.issuer} does not support PKCE with S256, so a stolen authorization code could be used.`;
    throw new OAuthError("pkce-missing", text);
  }
  const url = await checkAddress(net, "authorization_endpoint", server.authorization_endpoint);
  const client = await request.client(redirect.url);
  const pending: Pending = {
    state: generateRandomState(),
    verifier: generateRandomCodeVerifier(),
    redirectUrl: redirect.url,
    client,
  };
  const parameters = omitEmpty({
    response_type: "code",
    client_id: client.id,
    redirect_uri: redirect.url,
    state: pending.state,
    code_challenge: await calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: "S256",
    resource,
    scope,
    dpop_jkt: thumbprint,
    // Without consent, the server ignores offline_access (OpenID Connect Core 1.0, section 11).
    prompt: scope?.split(" ").includes("offline_access") ? "consent" : undefined,
  });
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  if (redirect.isDeferred) {
    await defer(pending);
    const text = `The user has to sign in at ${server.issuer}: open the url of this error.`;
    throw new OAuthError("redirect-needed", text, { url: url.href });
  }
  const whole = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const returned = callHandler(() => redirect.authorize(url.href, whole));
  const redirected = untilAborted(returned, whole).catch((cause: unknown) => {
    if (signal.aborted || !whole.aborted) throw cause;
    throw new OAuthError("expired", `The user did not sign in within ${timeoutMs} ms (signInTimeoutMs).`);
  });
  return redeem(request, pending, await redirected);
}

/** Calls a function of a redirect handler. @throws {OAuthError} `redirect-failed` if it throws anything but a `ClientError`. */
export async function callHandler<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (ClientError.is(cause)) throw cause;
    throw new OAuthError("redirect-failed", `The redirect handler failed: ${toText(cause)}`, { cause });
  }
}

/**
 * Validates the authorization response, and exchanges its code for tokens.
 *
 * @param redirect The redirect URL with the parameters of the response.
 * @throws {OAuthError} `answer-invalid`, `access-denied`, and the reasons of the token request.
 */
export async function redeem(request: GrantRequest, pending: Pending, redirect: string): Promise<Granted> {
  const { server, resource } = request;
  const { client, state, verifier, redirectUrl } = pending;
  let code: string | null;
  try {
    // The library compares `state` and `iss` first, even if the response is an error.
    code = validateAuthResponse(server, { client_id: client.id }, new URL(redirect), state).get("code");
  } catch (error) {
    if (!(error instanceof AuthorizationResponseError)) {
      throw new OAuthError("answer-invalid", `The authorization response is invalid: ${toText(error)}.`);
    }
    const detail = error.error_description ? ` (${error.error_description.slice(0, 200)})` : "";
    const text = `${server.issuer} refused the sign-in with ${error.error}${detail}.`;
    throw new OAuthError("access-denied", text, { error: error.error });
  }
  if (!code) throw new OAuthError("answer-invalid", "The authorization response has no code.");
  const parameters = { code, redirect_uri: redirectUrl, code_verifier: verifier, resource };
  return { client, response: await request.token(client, "authorization_code", parameters) };
}
