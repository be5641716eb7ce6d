/**
 * Exchanges an assertion of a company's identity provider for an access token.
 *
 * @module
 * @see draft-ietf-oauth-identity-assertion-authz-grant; RFC 7521, section 5.2; RFC 7523, section 2.1
 */
import { quote } from "../../core/basics/quote.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { Execution } from "../../core/protocol/execution.ts";
import { readProofKey } from "../../worker/access/dpop/proof.ts";
import { networkName } from "../../worker/access/rates/count.ts";
import type { RoleObjects } from "../../worker/bindings.ts";
import { retryOnReset } from "../../worker/retry-on-reset.ts";
import { admission, parseAddress } from "../admission.ts";
import { readUser } from "../identity/claims.ts";
import type { SignedInUser } from "../identity/provider.ts";
import type { Form } from "../routes/forms.ts";
import { errorResponse } from "../routes/json-responses.ts";
import { proveKey } from "../routes/token-route.ts";
import { hashText, hashUserId, newId, TEXT_MAX } from "../sealing.ts";
import { type AuthServer, findUserObject, type TokenClient, type TokenOutcome, type Visit } from "../server.ts";
import type { AccessTerms, TokenError, TokenResponse } from "../users/grant-record.ts";
import { type Assertion, readAssertion } from "./assertion.ts";
import type { AssertionProblem, EnterpriseUserRpc, VerifiedAssertion } from "./enterprise-user.ts";
import type { Issuers, TrustedIssuer } from "./issuers.ts";

/** The grant type (RFC 7523, section 2.1). */
export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** What the author has decided, with all defaults filled in. */
export interface ExchangeRules {
  readonly issuers: Issuers;
  readonly assertionMs: number;
  readonly clockSkewMs: number;
  readonly publicClients: boolean;
  /** Keeps the Worker running while keys are requested, which other requests wait for too. */
  readonly execution: Execution;
}

/** A token request with an assertion. */
interface Asked {
  readonly visit: Visit;
  readonly form: Form;
  readonly sender: TokenClient;
  readonly rules: ExchangeRules;
}

/** Handles a token request with an assertion. */
export async function exchange(asked: Asked): Promise<TokenOutcome> {
  const outcome = await decide(asked);
  const { result, ...who } = outcome;
  if (result instanceof Response || !("error" in result)) return outcome;
  const { refused } = asked.visit;
  // The token endpoint reports invalid_grant.
  if (result.error === "invalid_client") refused({ ...who, reason: "invalid_client", status: 401 });
  if (isReported(result.error)) refused({ ...who, reason: result.error, status: 400 });
  if (result.error !== "temporarily_unavailable") return outcome;
  refused({ ...who, reason: "too-many", status: 503 });
  return { ...outcome, result: errorResponse(result, { "Retry-After": RETRY_S }) };
}

/** When a client with too many assertions may try again, in seconds. */
const RETRY_S = "60";

const REPORTED = ["unauthorized_client", "invalid_target", "invalid_scope"] as const;

function isReported(error: TokenError["error"]): error is (typeof REPORTED)[number] {
  return (REPORTED as readonly string[]).includes(error);
}

async function decide(asked: Asked): Promise<TokenOutcome> {
  const { sender, rules } = asked;
  const { clientId } = sender;
  const assertion = read(asked);
  if ("error" in assertion) return { clientId, result: assertion };
  const { issuers } = rules;
  const trusted = await issuers.find(assertion, asked.visit.env);
  if (trusted) checkTrust(trusted, asked.visit.server);
  if (!trusted || !(await issuers.hasSigned(trusted, assertion, rules.execution))) {
    explain(assertion, trusted);
    // Both cases have the same description, which does not reveal the companies that the server trusts.
    return { clientId, result: refused("The assertion was not signed by an issuer that this server trusts.") };
  }
  const user = toUser(assertion, trusted);
  const userId = await hashUserId(user);
  return { clientId, userId, result: await issue(asked, { assertion, trusted, user, userId }) };
}

/** Tells the operator, and no one else, why an assertion was refused. */
function explain({ issuer, tenant, audienceTenant, jwt }: Assertion, trusted: TrustedIssuer | undefined): void {
  const names = { tenant, aud_tenant: audienceTenant };
  const claims = Object.entries(names).map(([claim, value]) =>
    value === undefined ? "" : ` with ${claim} ${quote(value)}`,
  );
  const kid = jwt.kid === undefined ? "" : ` with the id ${quote(jwt.kid)}`;
  const problem = trusted
    ? `no key of the issuer for ${quote(jwt.algorithm)}${kid} that its policy allows verifies the signature`
    : "the issuer is not trusted";
  console.warn(`mcp-edge: enterprise(): an assertion of ${quote(issuer)}${claims.join("")} was refused: ${problem}`);
}

/**
 * Checks a policy against the options of the authorization server.
 *
 * @throws {KitError} `options-invalid` if it names an unknown scope, or if whoever has written it could speak for users who sign in at
 *   the issuer interactively.
 */
export function checkTrust(
  { issuer, jwks, scopes = [] }: TrustedIssuer,
  server: Pick<AuthServer, "policy" | "scopes">,
): void {
  const unknown = scopes.find((scope) => !Object.hasOwn(server.scopes, scope));
  if (unknown !== undefined)
    throw invalid(
      `enterprise(): issuers: scopes of ${quote(issuer)} has ${quote(unknown)}, which is no scope of authorizationServer().`,
    );
  if (jwks === undefined) return;
  for (const provider of server.policy.providers.values()) {
    const names = `enterprise(): issuers: ${quote(issuer)} has jwks, but`;
    if (provider.issuer === issuer)
      throw invalid(
        `${names} users sign in at it interactively; leave jwks out, so that the keys of its metadata count.`,
      );
    if (provider.issuer === undefined)
      throw invalid(
        `${names} the identity provider ${quote(provider.id)} does not say whether it is its issuer; set issuer there.`,
      );
  }
}

function invalid(text: string): KitError {
  return new KitError("options-invalid", text);
}

/** Returns the assertion of a request, before its issuer and its signature are checked, or the error that refuses it. */
function read({ visit, form, sender, rules }: Asked): Assertion | TokenError {
  const { clientId, isPublic, resource } = sender;
  const text = form.get("assertion");
  if (text === undefined) return { error: "invalid_request", description: "assertion is missing." };
  if (isPublic && !rules.publicClients)
    return { error: "unauthorized_client", description: "Only a client with a secret may use assertions." };
  if (resource !== undefined && resource !== visit.resource)
    return { error: "invalid_target", description: `resource must be ${visit.resource}.` };
  const { clockSkewMs, assertionMs } = rules;
  const expected = { audience: visit.issuer, resource: visit.resource, clientId, clockSkewMs, assertionMs };
  const assertion = readAssertion(text, expected);
  return typeof assertion === "string" ? refused(assertion) : assertion;
}

/** An assertion with a valid signature. */
interface Genuine {
  readonly assertion: Assertion;
  readonly trusted: TrustedIssuer;
  readonly user: SignedInUser;
  readonly userId: string;
}

async function issue(asked: Asked, genuine: Genuine): Promise<TokenResponse | TokenError | Response> {
  const { visit, sender } = asked;
  const { assertion, trusted, user, userId } = genuine;
  const { server, env, issuer } = visit;
  const { clientId } = sender;
  if (trusted.clients && !trusted.clients.includes(clientId))
    return refused("The issuer may not give access to this client.");
  const client = await server.clients.find(clientId, env, issuer, networkName(visit.request));
  if (typeof client === "string") return { error: "invalid_client", description: client };
  const scopes = await findScopes(asked, genuine);
  if ("error" in scopes) return scopes;
  // The function of the author may throw, so it is called while the client can still send the assertion again.
  const claims = server.policy.createClaims(user);
  const { id, untilMs } = assertion;
  const verified: VerifiedAssertion = {
    id: (await hashText(JSON.stringify([assertion.issuer, assertion.tenant, id]))).slice(0, 22),
    untilMs,
    attempt: newId(),
    client: { id: clientId, name: client.name, isVerified: client.source === "author" },
    scopes,
    issuer: { issuer: trusted.issuer, tenant: trusted.tenant, audienceTenant: trusted.audienceTenant },
  };
  const object = findUser(visit, userId);
  const jkt = await findKey(visit, assertion, () => object.findProblem(verified));
  if (jkt !== undefined && typeof jkt !== "string") return jkt;
  const admitted = await object.admit(verified);
  if ("problem" in admitted) return PROBLEMS[admitted.problem];
  return seal(visit, { user: userId, grant: admitted.grant, client: clientId, scopes, jkt, claims });
}

const PROBLEMS: Readonly<Record<AssertionProblem, TokenError>> = {
  used: { ...refused("The assertion was used before."), replayed: "assertion" },
  expired: refused("The assertion has expired."),
  denied: refused("The user has revoked the access of this client. The user can allow it again by signing in."),
  "too-many": {
    error: "temporarily_unavailable",
    description: "Too many assertions of this client for this user. Try again later.",
  },
};

/**
 * Returns the scopes that are granted: those that the request and the assertion name, and that the policy of the issuer and the rules
 * for the user allow. An assertion without scopes gives those that every request needs.
 */
async function findScopes(
  { visit: { server }, form }: Asked,
  { assertion, trusted, user }: Genuine,
): Promise<readonly string[] | TokenError> {
  const { scopes: offeredScopes, requiredScopes, policy } = server;
  const offered = await findOffered(trusted, user, offeredScopes, policy);
  if (!offered) return refused("The user is not admitted to this server.");
  const given = assertion.scopes ?? requiredScopes;
  if (!given.every((scope) => Object.hasOwn(offeredScopes, scope)))
    return refused("The assertion has a scope that this server does not offer.");
  const asked = form.get("scope")?.split(" ") ?? given;
  const isGranted = (scope: string) =>
    given.includes(scope) && offered.includes(scope) && (trusted.scopes?.includes(scope) ?? true);
  const scopes = [...new Set(asked)].filter(isGranted);
  // Unknown scopes of the request are ignored (RFC 6749, section 3.3), unless nothing else is left.
  const isAny = given.length > 0 || asked.some((scope) => Object.hasOwn(offeredScopes, scope));
  if (scopes.length === 0 && isAny)
    return { error: "invalid_scope", description: "The assertion gives none of the scopes." };
  // Every call with such a token would be refused, and there is no user who could be asked for more.
  const missing = requiredScopes.find((scope) => !scopes.includes(scope));
  return missing === undefined
    ? scopes
    : { error: "invalid_scope", description: `The assertion does not give ${missing}, which every request needs.` };
}

async function findOffered(
  { allow }: TrustedIssuer,
  user: SignedInUser,
  scopes: Visit["server"]["scopes"],
  policy: Visit["server"]["policy"],
): Promise<readonly string[] | undefined> {
  if (allow === undefined) return policy.findOfferedScopes(user);
  return (await admission({ allow, scopes }).decide(user))?.scopes.map(({ name }) => name);
}

/** Returns the key that the token is bound to, or the error or response that refuses the request. */
async function findKey(
  visit: Visit,
  { jkt: bound }: Assertion,
  findProblem: () => Promise<AssertionProblem | undefined>,
): Promise<string | undefined | TokenError | Response> {
  const { request, server } = visit;
  const proof = request.headers.get("DPoP");
  const isNeeded = bound !== undefined || server.proofs.isRequired;
  if (proof === null) return isNeeded ? refused("A DPoP proof is required.") : undefined;
  // Each key has its own object, so none is created for another key, and none for an assertion that is refused anyway.
  const claimed = await readProofKey(proof);
  const isBound = bound === undefined || claimed === undefined || claimed === bound;
  if (!isBound) return refused("The assertion is bound to another key.");
  const problem = await findProblem();
  return problem === undefined ? proveKey(visit) : PROBLEMS[problem];
}

/** Returns the object of a user. */
function findUser(visit: Visit, userId: string): Pick<EnterpriseUserRpc, "admit" | "findProblem"> {
  // With enterprise(), all objects of users have these methods.
  const users = visit.server.users as RoleObjects<unknown> as RoleObjects<EnterpriseUserRpc>;
  const getObject = () => findUserObject(visit, userId);
  return {
    // A repeated call has the same number, so that the object does not mistake it for a second use.
    admit: (assertion) => retryOnReset(() => users.call(getObject(), "admit", assertion)),
    findProblem: (assertion) => retryOnReset(() => users.call(getObject(), "findProblem", assertion)),
  };
}

/** Seals the access token. There is no refresh token: the client asks the identity provider again. */
async function seal(
  { server, env, issuer, resource }: Visit,
  granted: Omit<AccessTerms, "resource" | "expiresAtMs">,
): Promise<TokenResponse | TokenError> {
  const { accessTokenMs } = server.policy;
  const terms: AccessTerms = { ...granted, resource, expiresAtMs: Date.now() + accessTokenMs };
  const access_token = await server.sealing.seal(env, "OAuth access token", terms, issuer);
  if (access_token.length > TEXT_MAX) {
    console.error(`mcp-edge: authorizationServer(): claims returns too much: more than ${TEXT_MAX} characters.`);
    return { error: "server_error", description: "See the log of the server." };
  }
  const { jkt, scopes } = granted;
  return {
    access_token,
    token_type: jkt === undefined ? "Bearer" : "DPoP",
    expires_in: Math.floor(accessTokenMs / 1000),
    scope: scopes.join(" "),
    resource,
  };
}

/** Claims that describe the assertion and not the user. */
const OWN_CLAIMS = ["client_id", "resource", "scope", "cnf"];

/** Returns the user of an assertion: the same as the user of an interactive sign-in at the same issuer. */
function toUser(
  { jwt, issuer, tenant, audienceTenant, subject }: Assertion,
  { domains = [], organisationsClaim }: TrustedIssuer,
): SignedInUser {
  const claims = Object.fromEntries(Object.entries(jwt.claims).filter(([name]) => !OWN_CLAIMS.includes(name)));
  const user = readUser(issuer, subject, claims, organisationsClaim);
  const { domain = "" } = parseAddress(user.email ?? "") ?? {};
  const isClaimed = claims.email_verified === undefined || user.emailVerified === true;
  // At an issuer that serves several companies, a subject identifies a user only together with the company.
  return { ...user, tenant, audienceTenant, emailVerified: isClaimed && domains.includes(domain) };
}

function refused(description: string): TokenError {
  return { error: "invalid_grant", description };
}
