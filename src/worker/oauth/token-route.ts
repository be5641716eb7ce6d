/**
 * The token endpoint and the revocation endpoint. Codes and refresh tokens name the object of their user, which exchanges
 * them. A forged one, or one of another server, is refused here.
 *
 * @module
 * @see RFC 6749, sections 4.1.3 and 6; RFC 7009; RFC 9449, section 5
 */
import { KitError } from "../../core/protocol/errors.ts";
import { Refused } from "../../http/refusal.ts";
import { retryOnReset } from "../retry-on-reset.ts";
import { isSameUrl } from "./authorization-request.ts";
import { authenticate } from "./client-authentication.ts";
import { type Form, readForm } from "./forms.ts";
import type { AccessTerms, Handle, TokenAnswer, TokenError, TokenSender } from "./grant.ts";
import { errorAnswer, jsonAnswer, refuseMethod } from "./json-answers.ts";
import { hashOf } from "./sealing.ts";
import { objectOf, PATHS, type Route, type Visit } from "./server.ts";

/** A code verifier (RFC 7636, 4.1). */
const VERIFIER = /^[\w.~-]{43,128}$/;

export const tokenRoute: Route = async (visit) => {
  const read = await readRequest(visit);
  if (read instanceof Response) return read;
  const { form, sender } = read;
  const type = form.get("grant_type");
  if (type === "authorization_code") return answer(await redeem(visit, form, sender));
  if (type === "refresh_token") return answer(await refresh(visit, form, sender));
  const description = "grant_type must be authorization_code or refresh_token.";
  return errorAnswer({ error: type === undefined ? "invalid_request" : "unsupported_grant_type", description });
};

/** Ends the grant of a token. As RFC 7009 asks, a token that is not valid gets the same answer. */
export const revokeRoute: Route = async (visit) => {
  const read = await readRequest(visit, false);
  if (read instanceof Response) return read;
  const token = read.form.get("token");
  if (token === undefined) return errorAnswer({ error: "invalid_request", description: "token is missing." });
  const { server, env, issuer } = visit;
  const handle =
    (await server.sealing.open<Handle>(env, "OAuth refresh token", token, issuer)) ??
    (await server.sealing.open<AccessTerms>(env, "OAuth access token", token, issuer));
  if (handle) {
    const { user, grant } = handle;
    const { clientId } = read.sender;
    await retryOnReset(() => server.users.call(objectOf(visit, user), "revoke", grant, clientId));
  }
  return jsonAnswer({});
};

/** Returns the form and the client of a request, or the response that refuses it. */
async function readRequest(
  visit: Visit,
  hasProof = true,
): Promise<{ readonly form: Form; readonly sender: TokenSender } | Response> {
  const { request } = visit;
  const refused = refuseMethod(request, "POST");
  if (refused) return refused;
  const form = await readForm(request);
  if (typeof form === "string") return errorAnswer({ error: "invalid_request", description: form });
  const client = await authenticate(visit, form);
  if ("error" in client) return unauthenticated(request, client);
  const jkt = hasProof ? await proveKey(visit) : undefined;
  if (jkt instanceof Response) return jkt;
  const given = form.get("resource");
  // A resource in another notation is that of the grant.
  const resource = given !== undefined && isSameUrl(given, visit.resource) ? visit.resource : given;
  return { form, sender: { ...client, jkt, resource } };
}

function unauthenticated({ headers }: Request, problem: TokenError): Response {
  const isChallenged = problem.error === "invalid_client" && headers.has("Authorization");
  return errorAnswer(problem, isChallenged ? { "WWW-Authenticate": 'Basic realm="token"' } : {});
}

/** Returns the thumbprint of the key that a request proves; undefined if it has no proof. */
async function proveKey({ request, env, server, issuer }: Visit): Promise<string | undefined | Response> {
  if (!request.headers.has("DPoP")) {
    if (!server.proofs.isRequired) return undefined;
    return errorAnswer({ error: "invalid_dpop_proof", description: "A DPoP proof is required." });
  }
  const proof = await server.proofs.prove(request, env, issuer + PATHS.token);
  if (typeof proof === "string") return proof;
  if (proof instanceof Refused) return proof.toResponse();
  return errorAnswer({ error: proof.error, description: proof.message }, proof.headers);
}

async function redeem(visit: Visit, form: Form, sender: TokenSender): Promise<TokenAnswer | TokenError> {
  const { server } = visit;
  const code = form.get("code");
  const verifier = form.get("code_verifier");
  if (code === undefined) return { error: "invalid_request", description: "code is missing." };
  if (verifier === undefined || !VERIFIER.test(verifier)) {
    return { error: "invalid_request", description: "code_verifier is missing, or has the wrong form." };
  }
  const handle = await openHandle(visit, "OAuth code", code);
  if (!handle) return { error: "invalid_grant", description: "The code is not valid, or has expired." };
  const request = { ...sender, redirectUri: form.get("redirect_uri"), challenge: await hashOf(verifier) };
  // Not retried: if the first call did arrive, the second one would be the second use of the code.
  return server.users.call(objectOf(visit, handle.user), "redeem", handle.grant, handle.secret, request);
}

async function refresh(visit: Visit, form: Form, sender: TokenSender): Promise<TokenAnswer | TokenError> {
  const { server, request } = visit;
  const token = form.get("refresh_token");
  if (token === undefined) return { error: "invalid_request", description: "refresh_token is missing." };
  const handle = await openHandle(visit, "OAuth refresh token", token);
  if (!handle) return { error: "invalid_grant", description: "The refresh token is not valid, or has expired." };
  const scopes = form.get("scope")?.split(" ");
  const { clientId, jkt } = sender;
  const credentials = request.headers.get("Authorization") ?? form.get("client_secret");
  // Without `resource`: a request that names it, and one that does not, ask for the same.
  const fingerprint = await hashOf(JSON.stringify([clientId, credentials, jkt, scopes]));
  const asked = { ...sender, scopes, fingerprint };
  // A repeated call gets the same answer.
  return retryOnReset(() =>
    server.users.call(objectOf(visit, handle.user), "refresh", handle.grant, handle.secret, asked),
  );
}

async function openHandle(
  { server, env, issuer }: Visit,
  purpose: "OAuth code" | "OAuth refresh token",
  text: string,
): Promise<Handle | undefined> {
  const handle = await server.sealing.open<Handle>(env, purpose, text, issuer);
  return handle && Date.now() < handle.expiresAtMs ? handle : undefined;
}

function answer(outcome: TokenAnswer | TokenError): Response {
  return "error" in outcome ? errorAnswer(outcome) : jsonAnswer(outcome);
}

/** Answers a request whose outcome is unknown. The client may repeat it. */
export function failure(error: unknown, where: string): Response {
  console.error(`mcp-edge: ${where} failed`, error);
  if (KitError.is(error)) return errorAnswer({ error: "server_error", description: "See the log of the server." });
  const description = "The request could not be completed at the moment. Repeat it.";
  return errorAnswer({ error: "temporarily_unavailable", description }, { "Retry-After": "2" });
}
