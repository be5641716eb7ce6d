/**
 * The token endpoint and the revocation endpoint. Codes and refresh tokens contain the id of their user, whose object exchanges
 * them. Forged values and values of other servers are refused here.
 *
 * @module
 * @see RFC 6749, sections 4.1.3 and 6; RFC 7009; RFC 9449, section 5
 */
import { KitError } from "../../core/protocol/errors.ts";
import { Refused } from "../../http/refusal.ts";
import { retryOnReset } from "../../worker/retry-on-reset.ts";
import { authenticate } from "../clients/client-authentication.ts";
import { hashText } from "../sealing.ts";
import { findUserObject, PATHS, type Route, type TokenClient, type TokenOutcome, type Visit } from "../server.ts";
import type { AccessTerms, TokenError, TokenHandle } from "../users/grant-record.ts";
import { isSameUrl } from "./authorization-request.ts";
import { type Form, readForm } from "./forms.ts";
import { errorResponse, jsonResponse, refuseMethod } from "./json-responses.ts";

/** A code verifier (RFC 7636, 4.1). */
const VERIFIER = /^[\w.~-]{43,128}$/;

/** Exchanges a code or a refresh token for tokens. */
export const tokenRoute: Route = async (visit) => {
  const read = await readRequest(visit);
  if (read instanceof Response) return read;
  const { form, sender } = read;
  const type = form.get("grant_type");
  if (type === "authorization_code") return toResponse(visit, await redeem(visit, form, sender));
  if (type === "refresh_token") return toResponse(visit, await refresh(visit, form, sender));
  const other = await visit.server.enterprise?.grant(visit, form, sender);
  if (other) return toResponse(visit, other);
  const description = "grant_type must be authorization_code or refresh_token.";
  return errorResponse({ error: type === undefined ? "invalid_request" : "unsupported_grant_type", description });
};

/** Revokes the grant of a token. The response is the same for an invalid token, as RFC 7009 requires. */
export const revokeRoute: Route = async (visit) => {
  const read = await readRequest(visit);
  if (read instanceof Response) return read;
  const token = read.form.get("token");
  if (token === undefined) return errorResponse({ error: "invalid_request", description: "token is missing." });
  const { server, env, issuer } = visit;
  const handle =
    (await server.sealing.open<TokenHandle>(env, "OAuth refresh token", token, issuer)) ??
    (await server.sealing.open<AccessTerms>(env, "OAuth access token", token, issuer));
  if (handle) {
    const { user, grant } = handle;
    const { clientId } = read.sender;
    await retryOnReset(() => server.users.call(findUserObject(visit, user), "revoke", grant, clientId));
  }
  return jsonResponse({});
};

/** Returns the form and the sender of a request, or the response that refuses it. */
async function readRequest(visit: Visit): Promise<{ readonly form: Form; readonly sender: TokenClient } | Response> {
  const { request } = visit;
  const refused = refuseMethod(request, "POST");
  if (refused) return refused;
  const form = await readForm(request);
  if (typeof form === "string") return errorResponse({ error: "invalid_request", description: form });
  const client = await authenticate(visit, form);
  if ("error" in client) {
    if (client.error === "invalid_client") {
      visit.refused({ reason: "invalid_client", status: 401, clientId: form.get("client_id") });
    }
    return unauthenticated(request, client);
  }
  const given = form.get("resource");
  // An equal URL in another notation is replaced with the notation of the grant.
  const resource = given !== undefined && isSameUrl(given, visit.resource) ? visit.resource : given;
  return { form, sender: { ...client, resource } };
}

function unauthenticated({ headers }: Request, problem: TokenError): Response {
  const isChallenged = problem.error === "invalid_client" && headers.has("Authorization");
  return errorResponse(problem, isChallenged ? { "WWW-Authenticate": 'Basic realm="token"' } : {});
}

/**
 * Returns the thumbprint of the key that a request proves, undefined if it has no proof, or the response that refuses it. Each key
 * has its own object, so this is called only for genuine codes, tokens and assertions.
 */
export async function proveKey({ request, env, server, issuer }: Visit): Promise<string | undefined | Response> {
  if (!request.headers.has("DPoP")) {
    if (!server.proofs.isRequired) return undefined;
    return errorResponse({ error: "invalid_dpop_proof", description: "A DPoP proof is required." });
  }
  const proof = await server.proofs.prove(request, env, issuer + PATHS.token);
  if (typeof proof === "string") return proof;
  if (proof instanceof Refused) return proof.toResponse();
  return errorResponse({ error: proof.error, description: proof.message }, proof.headers);
}

async function redeem(visit: Visit, form: Form, sender: TokenClient): Promise<TokenOutcome> {
  const { server } = visit;
  const { clientId } = sender;
  const code = form.get("code");
  const verifier = form.get("code_verifier");
  if (code === undefined) return { clientId, result: { error: "invalid_request", description: "code is missing." } };
  if (verifier === undefined || !VERIFIER.test(verifier)) {
    return {
      clientId,
      result: { error: "invalid_request", description: "code_verifier is missing or malformed." },
    };
  }
  const handle = await openHandle(visit, "OAuth code", code);
  if (!handle)
    return { clientId, result: { error: "invalid_grant", description: "The code is invalid or has expired." } };
  const jkt = await proveKey(visit);
  if (jkt instanceof Response) return { clientId, result: jkt };
  const request = { ...sender, jkt, redirectUri: form.get("redirect_uri"), challenge: await hashText(verifier) };
  // A repeated call receives the same response for a while.
  const result = await retryOnReset(() =>
    server.users.call(findUserObject(visit, handle.user), "redeem", handle.grant, handle.secret, request),
  );
  return { result, clientId, userId: handle.user };
}

async function refresh(visit: Visit, form: Form, sender: TokenClient): Promise<TokenOutcome> {
  const { server, request } = visit;
  const { clientId } = sender;
  const token = form.get("refresh_token");
  if (token === undefined)
    return { clientId, result: { error: "invalid_request", description: "refresh_token is missing." } };
  const handle = await openHandle(visit, "OAuth refresh token", token);
  if (!handle)
    return {
      clientId,
      result: { error: "invalid_grant", description: "The refresh token is invalid or has expired." },
    };
  const scopes = form.get("scope")?.split(" ");
  const jkt = await proveKey(visit);
  if (jkt instanceof Response) return { clientId, result: jkt };
  const credentials = request.headers.get("Authorization") ?? form.get("client_secret");
  // `resource` is not included, because requests with and without it are equivalent.
  const fingerprint = await hashText(JSON.stringify([clientId, credentials, jkt, scopes]));
  const asked = { ...sender, jkt, scopes, fingerprint };
  // A repeated call receives the same response.
  const result = await retryOnReset(() =>
    server.users.call(findUserObject(visit, handle.user), "refresh", handle.grant, handle.secret, asked),
  );
  return { result, clientId, userId: handle.user };
}

async function openHandle(
  { server, env, issuer }: Visit,
  purpose: "OAuth code" | "OAuth refresh token",
  text: string,
): Promise<TokenHandle | undefined> {
  const handle = await server.sealing.open<TokenHandle>(env, purpose, text, issuer);
  return handle && Date.now() < handle.expiresAtMs ? handle : undefined;
}

function toResponse(visit: Visit, { result, ...who }: TokenOutcome): Response {
  if (result instanceof Response) return result;
  if ("error" in result && result.error === "invalid_grant") {
    const { replayed } = result;
    visit.refused({ ...who, reason: replayed ? `${replayed}-replayed` : "invalid_grant", status: 400 });
  }
  return "error" in result ? errorResponse(result) : jsonResponse(result);
}

/** Returns the response to a request that failed with an unexpected error. */
export function toFailureResponse(error: unknown, where: string): Response {
  console.error(`mcp-edge: ${where} failed`, error);
  if (KitError.is(error)) return errorResponse({ error: "server_error", description: "See the log of the server." });
  const description = "The request could not be completed. Send it again.";
  return errorResponse({ error: "temporarily_unavailable", description }, { "Retry-After": "2" });
}
