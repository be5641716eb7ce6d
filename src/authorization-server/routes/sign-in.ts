/**
 * Signing in: the browser goes to an identity provider, and comes back to a path that only this provider has.
 *
 * @module
 */

import { IdentityError, type IdentityProvider, type IdentityReason } from "../identity/provider.ts";
import { canSignIn, readBrowser } from "../pages/cookies.ts";
import type { PageError, SignInData } from "../pages/index.ts";
import { hashUserId, newSecret } from "../sealing.ts";
import { findUserObject, PATHS, type Route, type Visit } from "../server.ts";
import type { SignedIn } from "../users/user-object.ts";
import {
  ANSWER_MS,
  type BrowserSession,
  readSession,
  readSignIn,
  sessionCookie,
  signInCookie,
} from "./browser-session.ts";

/** The parameter with which the links of the sign-in page choose a provider. */
const CHOICE = "identity_provider";

/** A user whose browser is signed in. */
export interface CurrentUser extends SignedIn, BrowserSession {
  /** The scopes that the user may grant. */
  readonly offered: readonly string[];
}

/** Returns the user of a browser; undefined if nobody is signed in; or a page if the user is not admitted. */
export async function currentUser(visit: Visit): Promise<CurrentUser | undefined | Response> {
  const { server } = visit;
  const session = await readSession(visit);
  const signedIn =
    session && (await server.users.call(findUserObject(visit, session.userId), "visit", session.session));
  if (!signedIn) return undefined;
  const offered = await server.policy.findOfferedScopes(signedIn.user);
  return offered
    ? { ...session, ...signedIn, offered }
    : notAdmitted(visit, signedIn, pathWith(visit.url, { prompt: "login" }));
}

/** Returns the name by which pages show a user. */
export function shownUser({ user }: Pick<SignedIn, "user">): string {
  return user.email ?? user.name ?? user.subject;
}

/** Begins a sign-in, or lets the user choose where. @param about The client that asks, for the page. */
export async function beginSignIn(
  visit: Visit,
  about: Pick<SignInData, "client" | "redirectUri"> = {},
): Promise<Response> {
  const { url, server } = visit;
  const { pages, policy } = server;
  // Without this, the cookie could be read on its way.
  if (!canSignIn(visit.request)) return pages.error("requestInvalid", { detail: "https is required" });
  const chosen = url.searchParams.get(CHOICE) ?? (policy.providers.size === 1 ? [...policy.providers.keys()][0] : null);
  const provider = policy.providers.get(chosen ?? "");
  if (provider) return redirectTo(visit, provider);
  const providers = [...policy.providers.values()].map(({ id, label }) => ({
    label,
    url: pathWith(url, { [CHOICE]: id }),
  }));
  return pages.signIn({ ...about, providers });
}

async function redirectTo(visit: Visit, provider: IdentityProvider): Promise<Response> {
  const { url, issuer, server } = visit;
  const state = newSecret();
  try {
    const started = await provider.begin({ redirectUri: `${issuer}${PATHS.callback}/${provider.id}`, state });
    // The user signs in once, also if the client asks for it.
    const prompt = url.searchParams
      .get("prompt")
      ?.split(" ")
      .filter((each) => each !== "login" && each !== "select_account");
    const returnTo = pathWith(url, { [CHOICE]: undefined, prompt: prompt?.join(" ") || undefined });
    const pending = { state, provider: provider.id, kept: started.kept, returnTo, untilMs: Date.now() + ANSWER_MS };
    return seeOther(started.url, [await signInCookie(visit, pending)]);
  } catch (error) {
    return server.pages.error(chooseErrorPage(error), { retryUrl: pathWith(url, {}) });
  }
}

/** The route to which an identity provider sends the browser back. */
export const callbackRoute: Route = async (visit) => {
  const { request, url, server } = visit;
  const { pages, policy } = server;
  if (request.method !== "GET") return new Response(null, { status: 405, headers: { Allow: "GET" } });
  const provider = policy.providers.get(url.pathname.slice(PATHS.callback.length + 1));
  if (!provider) return pages.error("notFound");
  const own = provider.page?.(request);
  if (own) return own;
  const found = await readSignIn(visit, url.searchParams.get("state") ?? "");
  if (!found || found.pending.provider !== provider.id) return pages.error("expired");
  const { pending, ended } = found;
  try {
    const finished = await provider.finish(url.href, pending.kept);
    const { user } = finished;
    const id = await hashUserId(user);
    if (!(await policy.findOfferedScopes(user))) return notAdmitted(visit, { user }, pending.returnTo);
    const session = await server.users.call(findUserObject(visit, id), "signIn", finished, provider.id);
    const untilMs = Date.now() + policy.sessionMs;
    const { cookie } = await readBrowser(request, true);
    const cookies = [ended, await sessionCookie(visit, { userId: id, session, untilMs }), ...(cookie ? [cookie] : [])];
    return seeOther(pending.returnTo, cookies);
  } catch (error) {
    return pages.error(chooseErrorPage(error), { retryUrl: pending.returnTo });
  }
};

function notAdmitted({ server }: Visit, signedIn: Pick<SignedIn, "user">, retryUrl: string): Response {
  return server.pages.error("notAdmitted", { user: shownUser(signedIn), retryUrl });
}

const PAGES: Readonly<Record<IdentityReason, PageError>> = {
  denied: "declined",
  invalid: "expired",
  revoked: "declined",
  unavailable: "unavailable",
  misconfigured: "broken",
};

/** Logs why a sign-in failed, and returns the page for it. */
function chooseErrorPage(error: unknown): PageError {
  if (!IdentityError.is(error)) throw error;
  console.warn(`mcp-edge: ${error.message}`);
  return PAGES[error.reason];
}

/** Returns path and query of a URL, with changed parameters. */
export function pathWith(url: URL, changes: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(url.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return url.pathname + (query.size > 0 ? `?${query}` : "");
}

/** Returns a redirect that nobody stores, and that tells the next site nothing about this one. */
export function seeOther(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ Location: location, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" });
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  return new Response(null, { status: 303, headers });
}
