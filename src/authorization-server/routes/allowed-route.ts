/**
 * The page on which users see the clients that they have allowed, revoke their access, and sign out.
 *
 * @module
 */

import { retryOnReset } from "../../worker/retry-on-reset.ts";
import { readBrowser, readPageForm } from "../pages/cookies.ts";
import type { AllowedClient } from "../pages/parts.ts";
import { findUserObject, PATHS, type Route, type Visit } from "../server.ts";
import { createEndedSessionCookie } from "./browser-session.ts";
import { beginSignIn, type CurrentUser, findCurrentUser, getDisplayName, seeOther } from "./sign-in.ts";

/** Shows the page, and handles its forms. */
export const allowedRoute: Route = async (visit) => {
  const { request, server } = visit;
  const { method } = request;
  if (method === "POST") return change(visit);
  if (method !== "GET" && method !== "HEAD")
    return new Response(null, { status: 405, headers: { Allow: "GET, HEAD, POST" } });
  const user = await findCurrentUser(visit);
  if (user instanceof Response) return user;
  if (!user) return beginSignIn(visit);
  const browser = await readBrowser(request);
  return server.pages.allowed({
    user: getDisplayName(user),
    clients: listClients(visit, user),
    action: PATHS.allowed,
    code: await browser.codeFor(getPurpose(user)),
    cookies: browser.cookie === undefined ? [] : [browser.cookie],
  });
};

/** Revokes the access of a client, or signs the user out. */
async function change(visit: Visit): Promise<Response> {
  const { request, server } = visit;
  const { pages, users } = server;
  const user = await findCurrentUser(visit);
  if (user instanceof Response) return user;
  if (!user) return pages.error("expired", { retryUrl: PATHS.allowed });
  const form = await readPageForm(request, () => getPurpose(user));
  if (!form) {
    visit.refused({ reason: "consent-refused", status: 403, userId: user.userId });
    return pages.error("formRefused");
  }
  const getObject = () => findUserObject(visit, user.userId);
  if (form.has("sign-out")) {
    await retryOnReset(() => users.call(getObject(), "signOut", user.session));
    return pages.signedOut([createEndedSessionCookie(visit)]);
  }
  const clientId = form.get("revoke");
  if (clientId === null) return pages.error("requestInvalid");
  await retryOnReset(() => users.call(getObject(), "revokeClient", user.session, clientId));
  return seeOther(PATHS.allowed);
}

function getPurpose({ session }: CurrentUser): string {
  return `allowed:${session}`;
}

/** Returns the clients that have access. A client with several grants, such as one for each computer, is listed once. */
function listClients({ server }: Visit, { grants, listed = grants }: CurrentUser): AllowedClient[] {
  const ids = new Set(listed.map(({ client }) => client.id));
  return [...ids].flatMap((id) => {
    const own = listed.filter(({ client }) => client.id === id);
    const newest = own.reduce((one, other) => (other.createdAtMs > one.createdAtMs ? other : one));
    const names = [...new Set(own.flatMap(({ scopes }) => scopes))];
    const scopes = names.map((name) => ({ name, description: server.scopes[name]?.description }));
    const sinceMs = Math.min(...own.map(({ createdAtMs }) => createdAtMs));
    return { id, client: newest.client, redirectUri: newest.redirectUri, scopes, sinceMs };
  });
}
