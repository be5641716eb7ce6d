/**
 * Requests to token endpoints.
 *
 * @module
 */
import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  type DPoPHandle,
  genericTokenEndpointRequest,
  isDPoPNonceError,
  processGenericTokenEndpointResponse,
  ResponseBodyError,
  type TokenEndpointResponse,
} from "oauth4webapi";
import { toText } from "../basics/errors.ts";
import type { ClientAuthentication } from "./client-authentication.ts";
import { OAuthError } from "./errors.ts";
import { findObject, type Net, request } from "./guard.ts";

/** A token endpoint, and the client that requests tokens there. */
export interface TokenEndpoint {
  readonly net: Net;
  readonly server: AuthorizationServer;
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
  /** Binds the tokens to a key. */
  readonly dpop?: DPoPHandle | undefined;
}

/** The maximum number of characters of the server's error description in an error. */
const TEXT_MAX = 200;

/**
 * Requests tokens. The request is repeated once if the server requires a nonce in the DPoP proof. It is never aborted before its time
 * limit, because a refresh token may be spent as soon as the server has read it.
 *
 * @throws {OAuthError} `token-refused` with the server's code, `token-invalid`, `unreachable`, `address-refused`. The message contains
 *   no credentials.
 */
export async function requestToken(
  endpoint: TokenEndpoint,
  grantType: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<TokenEndpointResponse> {
  const { server, clientId, authentication, dpop } = endpoint;
  const client = { client_id: clientId };
  const body = omitEmpty(parameters);
  const options = {
    [allowInsecureRequests]: true,
    [customFetch]: createTokenFetch(endpoint.net),
    ...(dpop ? { DPoP: dpop } : {}),
  };
  for (let isRepeat = false; ; isRepeat = true) {
    try {
      const response = await genericTokenEndpointRequest(server, client, authentication, grantType, body, options);
      // The type of an assertion, which is not an access token, is "N_A" (RFC 8693, section 2.2.1).
      return await processGenericTokenEndpointResponse(server, client, response, {
        recognizedTokenTypes: { n_a: () => undefined },
      });
    } catch (error) {
      if (!isRepeat && isDPoPNonceError(error)) continue;
      throw toFailure(error, server.issuer, Object.values(body));
    }
  }
}

/** Omits the members that are undefined or empty. */
export function omitEmpty(members: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(members).filter((member): member is [string, string] => !!member[1]));
}

/**
 * Returns the function with which the library sends its requests. It applies the limits of `request()`, and corrects responses of known
 * servers that deviate from RFC 6749.
 */
export function createTokenFetch(net: Net): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await request(net, "The authorization server", url, init);
    const { id_token: _, ...members } = (await findObject(response)) ?? {};
    const headers = new Headers(response.headers);
    headers.set("content-type", "application/json");
    let { status } = response;
    if (status >= 500) {
      throw new OAuthError("token-invalid", `The authorization server failed with status ${status}.`, { status });
    }
    // Some servers refuse a request with status 200, and some without an error code.
    if (typeof members.error === "string") status = status < 400 ? 400 : status;
    else if (status === 400 || status === 401) members.error = "invalid_request";
    return new Response(JSON.stringify(members), { status, headers });
  };
}

/** Returns the error to throw instead of an error of the library, whose cause can contain tokens. */
export function toFailure(error: unknown, issuer: string, secrets: readonly string[]): unknown {
  if (error instanceof OAuthError) return error;
  if (!(error instanceof ResponseBodyError)) {
    return new OAuthError("token-invalid", `The response of ${issuer} could not be used: ${toText(error)}.`);
  }
  let text = String(error.error_description ?? "").slice(0, TEXT_MAX);
  // Some servers quote the refused parameters, which may be secrets.
  for (const secret of secrets) if (secret.length > 7) text = text.replaceAll(secret, "...");
  const detail = text && ` (${text})`;
  const { error: code, status } = error;
  return new OAuthError("token-refused", `${issuer} refused the request with ${code}${detail}.`, {
    error: code,
    status,
  });
}
