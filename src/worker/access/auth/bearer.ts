/**
 * The plugin that admits requests with an access token.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization
 */
import type { Hono } from "hono/tiny";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import type { Limits } from "../../../core/protocol/limits.ts";
import type { AuthHook, Authorize } from "../../../http/endpoint-types.ts";
import { isLoopback, splitUrl } from "../../../http/origin.ts";
import { Refused, refuse } from "../../../http/refusal.ts";
import { createPlugin } from "../../contributions.ts";
import type { HonoEnv } from "../../parts.ts";
import type { AuthPlugin } from "../../plugin.ts";
import { type BearerOptions, checkBearerOptions } from "./bearer-options.ts";
import { bySignature } from "./by-signature.ts";
import type { ClaimRules } from "./claims.ts";
import { answerMetadata, BEARER, type Denial, deny, WELL_KNOWN } from "./denials.ts";
import { byIntrospection } from "./introspection.ts";
import { Needs } from "./needs.ts";
import { byFunction, keeping, type Verify } from "./opaque.ts";
import type { BoundToken, ProofProblem, ProofVerifier } from "./proof-verifier.ts";
import { including } from "./scopes.ts";
import { readToken } from "./token.ts";
import { unverified } from "./unverified.ts";

/**
 * Admits requests with an access token of one issuer, as a plugin of `edge()`. The token is a JWT that the
 * issuer has signed, or it is verified by introspection or by a function. It acts for its `sub`, or for `client:` and its
 * `client_id`; handlers get this as `ctx.auth`, with `scopes` and `claims`.
 *
 * Every other request gets 401 or 403 with a challenge that names the metadata of the resource, which the app then
 * serves. If the issuer cannot be reached, the answer is 503.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * export default edge(server, { use: [bearer({ issuer: "https://login.example.com" })] });
 * ```
 *
 * @see MCP 2026-07-28, basic/authorization; RFC 6750; RFC 9068; RFC 9728
 */
export function bearer<Env = unknown, Classes = unknown>(
  options: BearerOptions<Env, Classes>,
): AuthPlugin<Env, Classes> {
  checkBearerOptions(options);
  const needs = new Needs(options.needs ?? {});
  const proofs = options.dpop;
  const authenticate = authenticator(options);
  const plugin = createPlugin<Env, Classes>({
    name: "bearer()",
    objects: proofs?.objects,
    attach: (endpoint) => ({
      authenticate,
      authorize: authorizer(options, needs, endpoint.limits),
      scopesOf: (messages) => needs.ofMessages(messages, endpoint.limits),
      mount: (app) => mountMetadata(app, endpoint.path, options),
      roles: proofs && [proofs.attach(endpoint)],
      findProblems: (env) => proofs?.findProblems(env) ?? [],
    }),
  });
  return {
    ...plugin,
    visible: (definition, { principal }) => {
      return needs.ofDefinition(definition).every((scope) => principal?.scopes?.includes(scope));
    },
    metadata: (request) => metadataFor(options, request),
  };
}

/** Returns the hook that admits requests with a valid token. */
function authenticator<Env>(options: BearerOptions<Env>): AuthHook<Env> {
  const { scopes = [], dpop: proofs } = options;
  const verify = createVerifier(options);
  const schemes = schemesOf(options);
  const challenges = proofs ? [...(proofs.isRequired ? [] : [BEARER]), proofs.challenge] : undefined;
  const include = including(options.includes);
  const explain = explainer(options);
  return async (request, env, execution) => {
    const resource = resourceAt(options, request.url);
    explain(request.url, resource);
    if (isHostOpen(options, request.url)) return refuse(deny(HOST_OPEN, resource, challenges));
    const presented = readToken(request, schemes);
    if (!("token" in presented)) return refuse(deny({ ...presented, scopes }, resource, challenges));
    const { token, isProven } = presented;
    const own = proofs && isProven ? [proofs.challenge] : undefined;
    const answer = await verify(token, { request, env, resource, execution }).catch(unverified(token));
    if (answer instanceof Refused) return answer;
    if (typeof answer === "string") {
      return refuse(deny({ status: 401, error: "invalid_token", message: answer, scopes }, resource, own));
    }
    const given = { request, env, token, isProven, resource: options.resource, cnf: answer.principal.claims?.cnf };
    const problem = await problemOfBinding(given, proofs);
    if (problem) {
      if (problem instanceof Refused) return problem;
      return refuse(deny({ status: 401, scopes, ...problem }, resource, challenges));
    }
    return { ...answer.principal, scopes: include(answer.principal.scopes ?? []) };
  };
}

/** Returns the hook that refuses messages which need a scope that the token lacks. */
function authorizer(options: BearerOptions<never>, needs: Needs, limits: Limits): Authorize {
  const { scopes = [], dpop: proofs } = options;
  const schemes = schemesOf(options);
  return ({ request, principal, messages }) => {
    const holds = (scope: string) => principal?.scopes?.includes(scope);
    if (scopes.every(holds) && needs.all.every(holds)) return undefined;
    const read = messages.map((parsed) => ("message" in parsed ? { ...parsed.message } : {}));
    const more = needs.ofMessages(read, limits);
    const all = [...new Set([...scopes, ...more])];
    const lacking = all.filter((scope) => !holds(scope));
    if (lacking.length === 0) return undefined;
    // Clients that cannot ask for more show this text to their users.
    const message = `The token lacks the scope ${lacking.join(" ")}.`;
    const presented = readToken(request, schemes);
    const own = proofs && "isProven" in presented && presented.isProven ? [proofs.challenge] : undefined;
    const denial = { status: 403, error: "insufficient_scope", message, scopes: all } as const;
    return deny(denial, resourceAt(options, request.url), own);
  };
}

/** Returns the pattern of the authentication schemes that are accepted. */
function schemesOf({ dpop }: BearerOptions<never>): RegExp {
  if (!dpop) return /^Bearer\b/i;
  return dpop.isRequired ? /^DPoP\b/i : /^(Bearer|DPoP)\b/i;
}

/** Serves the metadata of the endpoint at every path at which clients look for it. */
function mountMetadata<Own, Env>(app: Hono<HonoEnv<Own>>, path: string, options: BearerOptions<Env>): void {
  // The URL of an endpoint whose path has variables is not known at the path without one.
  const own = /[:*]/.test(path) ? undefined : path;
  const given = options.resource && new URL(options.resource).pathname;
  const paths = new Set([WELL_KNOWN + rootless(path), rootless(path) + WELL_KNOWN]);
  if (own !== undefined || given !== undefined) paths.add(WELL_KNOWN);
  if (given !== undefined) paths.add(WELL_KNOWN + rootless(given));
  // A path whose characters are escaped matches the route too, and is not that of the metadata.
  for (const each of paths) app.all(each, ({ req, notFound }) => metadataFor(options, req.raw, own) ?? notFound());
}

/** Returns why a token may not be used as it was presented, or undefined if it may. */
async function problemOfBinding(
  given: BoundToken & { readonly isProven: boolean },
  proofs: ProofVerifier | undefined,
): Promise<ProofProblem | Refused | undefined> {
  const { isProven, cnf } = given;
  if (proofs && isProven) return proofs.check(given);
  // A token that is bound to a key must be used with a proof of that key, also where no proof can be verified.
  return cnf === undefined ? undefined : { error: "invalid_token", message: "The token is bound to a key." };
}

/**
 * Whether anyone can choose the URL that a token must be for: over plain HTTP the client writes the Host as it likes. On
 * Cloudflare, and wherever a certificate is needed, only the hosts of the author reach the server.
 */
function isHostOpen({ resource, audience }: BearerOptions<never>, url: string): boolean {
  const { protocol, hostname } = splitUrl(url);
  return protocol === "http:" && !isLoopback(hostname) && (resource ?? audience) === undefined;
}

const HOST_OPEN: Denial = {
  status: 400,
  error: "invalid_request",
  message: "Over plain HTTP anyone can choose the Host. Use HTTPS, or set the option resource of bearer().",
  scopes: [],
};

/** Returns the URL that identifies the endpoint. */
function resourceAt({ resource }: BearerOptions<never>, url: string, path = splitUrl(url).pathname): string {
  return resource ?? splitUrl(url).origin + rootless(path);
}

/** Returns a path, or nothing for the root. */
function rootless(path: string): string {
  return path === "/" ? "" : path;
}

/** @param path Path of the endpoint, for a request that does not contain it. */
function metadataFor(options: BearerOptions<never>, { url, method }: Request, path = "/"): Response | undefined {
  const { pathname } = splitUrl(url);
  if (!pathname.includes(WELL_KNOWN)) return undefined;
  const { issuer, scopes, metadata, dpop } = options;
  const document: JsonObject = {
    resource: resourceAt(options, url, pathname.replace(WELL_KNOWN, "") || path),
    authorization_servers: [issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ["header"],
    ...dpop?.metadata,
    ...metadata,
  };
  return answerMetadata(method, document);
}

/** Returns a function that logs once, on this machine only, what tokens must say. A wrong audience is hard to find. */
function explainer({ issuer, audience, verify }: BearerOptions<never>): (url: string, resource: string) => void {
  let isSaid = verify !== undefined;
  return (url, resource) => {
    if (isSaid || !isLoopback(splitUrl(url).hostname)) return;
    isSaid = true;
    console.log(
      `mcp-edge: tokens must have the issuer ${issuer} and the audience ${[audience ?? resource].flat().join(" or ")}`,
    );
  };
}

/** Returns the way in which tokens are verified. */
function createVerifier(options: BearerOptions<never>): Verify {
  const { issuer, audience, clockSkewMs = 30_000, introspection, verify, cacheMs } = options;
  const rulesFor = (resource: string): ClaimRules => {
    // The URL of a host has two forms, and clients may use either.
    const { origin, pathname } = splitUrl(resource);
    const audiences = audience ?? (pathname === "/" ? [origin, `${origin}/`] : resource);
    const isVouchedFor = introspection !== undefined;
    return { issuer, audiences: [audiences].flat(), clockSkewMs, isVouchedFor, clientClaim: "client_id" };
  };
  // The function sees the whole request, so only its author knows whether an answer holds for another one.
  if (verify) return keeping(byFunction(issuer, verify), cacheMs ?? 0);
  if (introspection) return keeping(byIntrospection(introspection, rulesFor), cacheMs ?? 60_000);
  return bySignature(options, rulesFor);
}
