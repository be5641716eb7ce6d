/**
 * The authorization endpoint. The user signs in, decides whether the client may have access, and returns to the client with a
 * code.
 *
 * @module
 * @see RFC 6749, section 4.1; RFC 9207; MCP 2026-07-28, basic/authorization
 */
import { networkName } from "../../worker/access/rates/count.ts";
import { withParameters } from "../clients/redirects.ts";
import { findDestination, findLookAlike, type ShownClient } from "../pages/client.ts";
import { readBrowser, readPageForm } from "../pages/cookies.ts";
import { needsConsent, toStoredConsent } from "../pages/stored-consent.ts";
import { CODE_MS } from "../policy.ts";
import { newId } from "../sealing.ts";
import { findUserObject, PATHS, type Route, type Visit } from "../server.ts";
import type { AnsweredQuestion, TokenHandle } from "../users/grant-record.ts";
import { type AuthorizationRequest, type RequestProblem, readAuthorizationRequest } from "./authorization-request.ts";
import { SIGN_IN_MS } from "./browser-session.ts";
import {
  beginSignIn,
  type CurrentUser,
  changeParameters,
  findCurrentUser,
  getDisplayName,
  seeOther,
} from "./sign-in.ts";

/** The sealed content of a consent form. */
interface ConsentQuestion {
  readonly id: string;
  /** The query of the client's request. */
  readonly search: string;
  readonly user: string;
  readonly session: string;
  readonly scopes: readonly string[];
  readonly untilMs: number;
}

/** Handles authorization requests of clients, and the consent forms of users. */
export const authorizeRoute: Route = async (visit) => {
  const { method } = visit.request;
  if (method === "POST") return handleDecision(visit);
  if (method === "GET" || method === "HEAD") return handleRequest(visit);
  return new Response(null, { status: 405, headers: { Allow: "GET, HEAD, POST" } });
};

/** Handles the authorization request of a client. */
async function handleRequest(visit: Visit): Promise<Response> {
  const { url, server } = visit;
  const request = await readRequest(visit, url);
  if ("error" in request || "page" in request) return refuse(visit, request);
  const { prompt, redirectUri } = request;
  const isSilent = prompt.includes("none");
  const user = prompt.includes("login") || prompt.includes("select_account") ? undefined : await findCurrentUser(visit);
  if (user instanceof Response) return isSilent ? deny(visit, request, "access_denied") : user;
  if (!user) {
    if (isSilent) return deny(visit, request, "login_required");
    return beginSignIn(visit, { client: toShownClient(request), redirectUri });
  }
  const scopes = findGrantableScopes(visit, request, user);
  if (!scopes) return deny(visit, request, "invalid_scope");
  const stored = user.grants.map(({ client, ...grant }) => toStoredConsent({ clientId: client.id, ...grant }));
  const asks = { clientId: request.client.id, redirectUri, scopes };
  const isKnown = !needsConsent(
    asks,
    stored.filter((each) => each !== undefined),
  );
  if (isKnown && !prompt.includes("consent")) return approve(visit, request, user, { scopes, show: seeOther });
  if (isSilent) return deny(visit, request, "consent_required");
  const { sealing, pages } = server;
  const question: ConsentQuestion = {
    id: newId(),
    search: url.search,
    user: user.userId,
    session: user.session,
    scopes,
    untilMs: Date.now() + SIGN_IN_MS,
  };
  const sealed = await sealing.seal(visit.env, "OAuth consent", question, visit.issuer);
  const browser = await readBrowser(visit.request);
  const allowed = user.grants.map(({ client, redirectUri }) => ({ ...client, redirectUri }));
  return pages.consent({
    client: toShownClient(request),
    redirectUri,
    scopes: scopes.map((name) => ({ name, description: server.scopes[name]?.description })),
    user: getDisplayName(user),
    switchUrl: changeParameters(url, { prompt: "login" }),
    lookAlikeHost: findLookAlike(toShownClient(request), redirectUri, allowed),
    action: PATHS.authorize,
    request: sealed,
    code: await browser.codeFor(getPurpose(sealed)),
    cookies: browser.cookie === undefined ? [] : [browser.cookie],
  });
}

/** Handles the form with the decision of the user. */
async function handleDecision(visit: Visit): Promise<Response> {
  const { request, env, server, issuer } = visit;
  const { pages, sealing } = server;
  const form = await readPageForm(request, (fields) => getPurpose(fields.get("request") ?? ""));
  if (!form) {
    visit.refused({ reason: "consent-refused", status: 403 });
    return pages.error("formRefused");
  }
  const question = await sealing.open<ConsentQuestion>(env, "OAuth consent", form.get("request") ?? "", issuer);
  if (!question || Date.now() >= question.untilMs) return pages.error("expired");
  const user = await findCurrentUser(visit);
  if (user instanceof Response) return user;
  // The form is valid only for the user and the session for which it was created.
  if (user?.userId !== question.user || user.session !== question.session) return pages.error("expired");
  const url = new URL(PATHS.authorize + question.search, issuer);
  const asked = await readRequest(visit, url);
  if ("error" in asked || "page" in asked) return refuse(visit, asked);
  const show = (location: string) => pages.goTo(location);
  if (form.get("decision") !== "allow") return deny(visit, asked, "access_denied", show);
  // The scopes that the user may grant can have changed since the form was shown.
  const scopes = question.scopes.filter((scope) => user.offered.includes(scope));
  const { id, untilMs } = question;
  return approve(visit, asked, user, { scopes, show, question: { id, untilMs } });
}

function getPurpose(sealed: string): string {
  return `consent:${sealed}`;
}

function readRequest(
  { request, server, env, issuer, resource }: Visit,
  url: URL,
): Promise<AuthorizationRequest | RequestProblem> {
  const network = networkName(request);
  return readAuthorizationRequest(url, (id) => server.clients.find(id, env, issuer, network), resource);
}

function toShownClient({ client }: AuthorizationRequest): ShownClient {
  return { id: client.id, name: client.name, isVerified: client.source === "author" };
}

/**
 * Returns the scopes that are granted if the user agrees. Returns undefined if the user may not grant any of the known scopes that
 * the client requests. Unknown scopes are ignored, as RFC 6749, section 3.3, allows, because some clients always request
 * `offline_access`.
 */
function findGrantableScopes(
  { server }: Visit,
  { scopes }: AuthorizationRequest,
  { offered }: CurrentUser,
): readonly string[] | undefined {
  const asked = new Set(scopes ?? server.requiredScopes);
  const granted = [...asked].filter((scope) => offered.includes(scope));
  const known = [...asked].filter((scope) => Object.hasOwn(server.scopes, scope));
  return granted.length === 0 && known.length > 0 ? undefined : granted;
}

type Show = (location: string) => Response;

/** The consent of a user, and how the browser is sent to the client. */
interface Consent {
  readonly scopes: readonly string[];
  readonly show: Show;
  /** The question that the user has answered. Undefined if the user was not asked, because the consent is stored. */
  readonly question?: AnsweredQuestion;
}

/** Creates a grant, and sends the browser to the client with a code. */
async function approve(
  visit: Visit,
  { client, redirectUri, challenge, jkt, state }: AuthorizationRequest,
  { userId, session }: CurrentUser,
  { scopes, show, question }: Consent,
): Promise<Response> {
  const { server, env, issuer, resource } = visit;
  const approval = {
    client: { id: client.id, name: client.name, isVerified: client.source === "author" },
    scopes,
    issuer,
    resource,
    code: { challenge, redirectUri, jkt },
  };
  const created = await server.users.call(findUserObject(visit, userId), "approve", session, approval, question);
  if (!created) return server.pages.error("expired");
  const handle: TokenHandle = { ...created, user: userId, expiresAtMs: Date.now() + CODE_MS };
  const code = await server.sealing.seal(env, "OAuth code", handle, issuer);
  return show(withParameters(redirectUri, { code, state, iss: issuer }));
}

const DENIALS = {
  access_denied: "The user did not allow the access.",
  login_required: "The user must sign in.",
  consent_required: "The user must be asked for consent.",
  invalid_scope: "The user is not allowed to grant any of the requested scopes.",
} as const;

function deny(
  visit: Visit,
  { client, redirectUri, state }: AuthorizationRequest,
  error: keyof typeof DENIALS,
  show?: Show,
): Response {
  return refuse(visit, { error, description: DENIALS[error], client, redirectUri, state }, show);
}

/**
 * Returns the response to a refused request. It reports the error to the client, or to the user if the client cannot be trusted.
 *
 * @param show Undefined if the user has not seen where the browser would go. Anyone can publish a client with any `https:` redirect
 *   URI, so without a page, a link to this server could lead to any site (RFC 9700, section 4.11.2).
 */
function refuse({ server, issuer }: Visit, problem: RequestProblem, show?: Show): Response {
  const { pages } = server;
  if ("page" in problem) return pages.error("requestInvalid", { detail: problem.page });
  const { error, description, client, redirectUri, state } = problem;
  const location = withParameters(redirectUri, { error, error_description: description, state, iss: issuer });
  if (show) return show(location);
  // Programs on the user's machine and apps wait for the response, and their addresses cannot deceive users (decision 011).
  const isElsewhere = (findDestination(redirectUri)?.kind ?? "site") === "site";
  return client.source === "author" || !isElsewhere
    ? seeOther(location)
    : pages.error("refused", { continueUrl: location, detail: description });
}
