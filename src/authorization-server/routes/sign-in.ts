/**
 * Sign-in: the browser is redirected to an identity provider, and back to a path that belongs to this provider only.
 *
 * @module
 */

import { retryOnReset } from "../../worker/retry-on-reset.ts";
import { IdentityError, type IdentityProvider, type IdentityReason } from "../identity/provider.ts";
import { canSignIn, readBrowser } from "../pages/cookies.ts";
import type { PageError, SignInData } from "../pages/index.ts";
import { hashUserId, newSecret } from "../sealing.ts";
import { findUserObject, PATHS, type Route, type Visit } from "../server.ts";
import type { SignedIn } from "../users/user-object.ts";
import {
  type BrowserSession,
  createSessionCookie,
  createSignInCookie,
  readSession,
  readSignIn,
  SIGN_IN_MS,
} from "./browser-session.ts";

/** The parameter with which the links of the sign-in page choose a provider. */
const CHOICE = "identity_provider";

/** A user whose browser is signed in. */
export interface CurrentUser extends SignedIn, BrowserSession {
  /** The scopes that the user may grant. */
  readonly offered: readonly string[];
}

/** Returns the signed-in user of a browser, undefined if no user is signed in, or a page if the user is not admitted. */
export async function findCurrentUser(visit: Visit): Promise<CurrentUser | undefined | Response> {
  const { server } = visit;
  const session = await readSession(visit);
  const ask = (by: BrowserSession) => server.users.call(findUserObject(visit, by.userId), "visit", by.session);
  const signedIn = session && (await retryOnReset(() => ask(session)));
  if (!signedIn) return undefined;
  const offered = await server.policy.findOfferedScopes(signedIn.user);
  return offered
    ? { ...session, ...signedIn, offered }
    : notAdmitted(visit, signedIn, changeParameters(visit.url, { prompt: "login" }));
}

/** Returns the name of a user that is shown on pages. */
export function getDisplayName({ user }: Pick<SignedIn, "user">): string {
  return user.email ?? user.name ?? user.subject;
}

/** Starts a sign-in, or lets the user choose an identity provider first. @param about The client that requests access. */
export async function beginSignIn(
  visit: Visit,
  about: Pick<SignInData, "client" | "redirectUri"> = {},
): Promise<Response> {
  const { url, server } = visit;
  const { pages, policy } = server;
  // Over plain HTTP, others could read the cookie.
  if (!canSignIn(visit.request)) return pages.error("requestInvalid", { detail: "https is required" });
  const chosen = url.searchParams.get(CHOICE) ?? (policy.providers.size === 1 ? [...policy.providers.keys()][0] : null);
  const provider = policy.providers.get(chosen ?? "");
  if (provider) return redirectTo(visit, provider);
  const providers = [...policy.providers.values()].map(({ id, label }) => ({
    label,
    url: changeParameters(url, { [CHOICE]: id }),
  }));
  return pages.signIn({ ...about, providers });
}

async function redirectTo(visit: Visit, provider: IdentityProvider): Promise<Response> {
  const { url, issuer, server } = visit;
  const state = newSecret();
  try {
    const started = await provider.begin({ redirectUri: `${issuer}${PATHS.callback}/${provider.id}`, state });
    // After the sign-in, the request continues without these values, which would start another sign-in.
    const prompt = url.searchParams
      .get("prompt")
      ?.split(" ")
      .filter((each) => each !== "login" && each !== "select_account");
    const returnTo = changeParameters(url, { [CHOICE]: undefined, prompt: prompt?.join(" ") || undefined });
    const pending = { state, provider: provider.id, kept: started.kept, returnTo, untilMs: Date.now() + SIGN_IN_MS };
    return seeOther(started.url, [await createSignInCookie(visit, pending)]);
  } catch (error) {
    return server.pages.error(chooseErrorPage(error), { retryUrl: changeParameters(url, {}) });
  }
}

/** The route to which identity providers redirect the browser. */
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
    const session = await retryOnReset(() =>
      server.users.call(findUserObject(visit, id), "signIn", finished, provider.id),
    );
    const untilMs = Date.now() + policy.sessionMs;
    const { cookie } = await readBrowser(request, true);
    const cookies = [
      ended,
      await createSessionCookie(visit, { userId: id, session, untilMs }),
      ...(cookie ? [cookie] : []),
    ];
    return seeOther(pending.returnTo, cookies);
  } catch (error) {
    return pages.error(chooseErrorPage(error), { retryUrl: pending.returnTo });
  }
};

function notAdmitted({ server }: Visit, signedIn: Pick<SignedIn, "user">, retryUrl: string): Response {
  return server.pages.error("notAdmitted", { user: getDisplayName(signedIn), retryUrl });
}

const PAGES: Readonly<Record<IdentityReason, PageError>> = {
  denied: "declined",
  invalid: "expired",
  revoked: "declined",
  unavailable: "unavailable",
  misconfigured: "broken",
};

/** Logs why a sign-in failed, and returns the error page to show. */
function chooseErrorPage(error: unknown): PageError {
  if (!IdentityError.is(error)) throw error;
  console.warn(`mcp-edge: ${error.message}`);
  return PAGES[error.reason];
}

/** Returns the path and query of a URL with changed parameters. Parameters with the value undefined are removed. */
export function changeParameters(url: URL, changes: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(url.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return url.pathname + (query.size > 0 ? `?${query}` : "");
}

/** Returns a redirect that must not be cached. The referrer is not sent to the next site. */
export function seeOther(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ Location: location, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" });
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  return new Response(null, { status: 303, headers });
}
