/**
 * Dynamic client registration. The `client_id` is the sealed registration, so the server does not store it.
 *
 * @module
 * @see RFC 7591; MCP 2026-07-28, basic/authorization/client-registration (deprecated there)
 */
import { parseObject } from "../../worker/access/auth/fetch-json.ts";
import { findDestination } from "../pages/client.ts";
import { readText } from "../routes/forms.ts";
import { errorResponse, jsonResponse, refuseMethod } from "../routes/json-responses.ts";
import { hashText, newSecret } from "../sealing.ts";
import type { Route } from "../server.ts";
import type { Registration } from "./clients.ts";
import { cleanName } from "./names.ts";
import type { ClientAuthMethod } from "./oauth-client.ts";
import { findRedirectProblem } from "./redirects.ts";

/**
 * The maximum number of bytes of a registration request.
 * @limit bytes A registration request. A longer one is refused with 400.
 */
const BODY_MAX = 16 * 1024;
/**
 * The maximum number of redirect URIs. They are part of the `client_id`, which is a parameter of URLs.
 * @limit count Redirect URIs of a registration request. A request with more is refused with 400.
 */
const REDIRECTS_MAX = 5;
/**
 * The maximum number of characters of all redirect URIs together.
 * @limit characters The redirect URIs of a registration request together. Longer ones are refused with 400.
 */
const REDIRECTS_LENGTH_MAX = 600;
/**
 * The lifetime of a registration, in milliseconds. It equals the lifetime of the keys that seal it.
 * @limit ms The lifetime of a registration. After it, the client must register again.
 */
const VALID_MS = 365 * 24 * 60 * 60_000;
const METHODS: readonly unknown[] = ["none", "client_secret_basic", "client_secret_post"] satisfies ClientAuthMethod[];

/** Registers a client (RFC 7591). */
export const registerRoute: Route = async ({ request, env, server, issuer }) => {
  const refused = refuseMethod(request, "POST");
  if (refused) return refused;
  const text = await readText(request, BODY_MAX);
  const body = text === undefined ? undefined : parseObject(text);
  if (!body) return refuse("invalid_client_metadata", `The body must be a JSON object of at most ${BODY_MAX} bytes.`);
  const { redirect_uris, token_endpoint_auth_method: method = "client_secret_basic" } = body;
  if (!Array.isArray(redirect_uris) || redirect_uris.length === 0 || redirect_uris.length > REDIRECTS_MAX) {
    return refuse("invalid_redirect_uri", `redirect_uris must be a list of 1 to ${REDIRECTS_MAX} URLs.`);
  }
  for (const uri of redirect_uris as readonly unknown[]) {
    const problem = findRedirectProblem(uri, server.schemes);
    if (problem !== undefined) return refuse("invalid_redirect_uri", `An entry of redirect_uris ${problem}.`);
  }
  const redirectUris = redirect_uris as readonly string[];
  if (redirectUris.join("").length > REDIRECTS_LENGTH_MAX) {
    return refuse(
      "invalid_redirect_uri",
      `redirect_uris must have at most ${REDIRECTS_LENGTH_MAX} characters in total.`,
    );
  }
  if (!METHODS.includes(method)) {
    return refuse("invalid_client_metadata", `token_endpoint_auth_method must be one of ${METHODS.join(", ")}.`);
  }
  const unsupported =
    findUnsupported(body.grant_types, ["authorization_code", "refresh_token"]) ??
    findUnsupported(body.response_types, ["code"]);
  if (unsupported !== undefined)
    return refuse("invalid_client_metadata", "A grant type or response type is not supported.");
  const [first = ""] = redirectUris;
  const name = cleanName(body.client_name) ?? findDestination(first)?.host ?? "";
  const secret = method === "none" ? undefined : newSecret();
  const registration: Registration = {
    name,
    redirectUris,
    method: method as ClientAuthMethod,
    secretHash: secret && (await hashText(secret)),
    expiresAtMs: Date.now() + VALID_MS,
  };
  const id = await server.sealing.seal(env, "OAuth client", registration, issuer);
  const response = {
    client_id: id,
    client_id_issued_at: Math.floor(Date.now() / 1000),
    ...(secret !== undefined && {
      client_secret: secret,
      client_secret_expires_at: Math.floor(registration.expiresAtMs / 1000),
    }),
    client_name: name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: method,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  return jsonResponse(response, 201);
};

/** Returns the first entry of a list that is not supported. An absent list is allowed. */
function findUnsupported(list: unknown, supported: readonly unknown[]): unknown {
  if (list === undefined) return undefined;
  return Array.isArray(list) ? list.find((each) => !supported.includes(each)) : "not a list";
}

function refuse(error: string, description: string): Response {
  return errorResponse({ error, description });
}
