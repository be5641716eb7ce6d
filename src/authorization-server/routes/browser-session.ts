/**
 * The cookies of the authorization server. Both are sealed, and no page can read them.
 *
 * - `mcp-edge-session`: who is signed in.
 * - `mcp-edge-signin-<n>`: a sign-in that has begun. It ties the answer of the identity provider to the browser that asked for
 *   it, so that nobody can be signed in as someone else (login CSRF). Four can be open at a time.
 *
 * @module
 */
import type { KeptSignIn } from "../identity/provider.ts";
import { readCookie, setCookie } from "../pages/cookies.ts";
import type { Visit } from "../server.ts";

/** A browser that is signed in. */
export interface BrowserSession {
  /** The id of the user. */
  readonly userId: string;
  readonly session: string;
  readonly untilMs: number;
}

/** A sign-in that has begun. */
export interface PendingSignIn {
  readonly state: string;
  readonly provider: string;
  readonly kept: KeptSignIn;
  /** Path and query of the request to continue with. */
  readonly returnTo: string;
  readonly untilMs: number;
}

/**
 * Milliseconds that a user has to sign in, and to answer the question for consent.
 * @limit ms The time in which a user signs in, and in which a user answers the question for consent. Then the user begins again.
 */
export const ANSWER_MS = 10 * 60_000;

const SESSION = "mcp-edge-session";
/** Few, because a page could make a browser begin any number of sign-ins, and all cookies are sent with each request. */
const SLOTS = 4;

/** Returns who is signed in. The user's object knows whether the session is still valid. */
export async function readSession({ request, env, server, issuer }: Visit): Promise<BrowserSession | undefined> {
  const text = readCookie(request, SESSION);
  const session = text && (await server.sealing.open<BrowserSession>(env, "OAuth browser", text, issuer));
  return session && Date.now() < session.untilMs ? session : undefined;
}

/** Returns the cookie of a session. */
export async function sessionCookie({ url, env, server, issuer }: Visit, session: BrowserSession): Promise<string> {
  const value = await server.sealing.seal(env, "OAuth browser", session, issuer);
  return setCookie(url.href, SESSION, value, Math.floor((session.untilMs - Date.now()) / 1000));
}

/** Returns the cookie that ends a session. */
export function endedSession({ url }: Visit): string {
  return setCookie(url.href, SESSION, "", 0);
}

/** Returns the cookie of a sign-in. */
export async function signInCookie({ url, env, server, issuer }: Visit, pending: PendingSignIn): Promise<string> {
  const value = await server.sealing.seal(env, "OAuth sign-in", pending, issuer);
  return setCookie(url.href, getSlot(pending.state), value, ANSWER_MS / 1000);
}

/** Returns the sign-in of this browser with a state, and the cookie that ends it. Undefined if this browser has none. */
export async function readSignIn(
  { request, url, env, server, issuer }: Visit,
  state: string,
): Promise<{ readonly pending: PendingSignIn; readonly ended: string } | undefined> {
  const slot = getSlot(state);
  const text = readCookie(request, slot);
  const pending = text && (await server.sealing.open<PendingSignIn>(env, "OAuth sign-in", text, issuer));
  if (!pending || pending.state !== state || Date.now() >= pending.untilMs) return undefined;
  return { pending, ended: setCookie(url.href, slot, "", 0) };
}

function getSlot(state: string): string {
  return `mcp-edge-signin-${(state.codePointAt(0) ?? 0) % SLOTS}`;
}
