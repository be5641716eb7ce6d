/**
 * The cookies for sessions and sign-ins. Both are sealed, and scripts cannot read them.
 *
 * - `mcp-edge-session`: the user who is signed in.
 * - `mcp-edge-signin-<n>`: a pending sign-in. It binds the response of the identity provider to the browser in which the sign-in was
 *   started, so that an attacker cannot sign a user in to another account (login CSRF). Four sign-ins can be pending at a time.
 *
 * @module
 */
import type { KeptSignIn } from "../identity/provider.ts";
import { readCookie, setCookie } from "../pages/cookies.ts";
import type { Visit } from "../server.ts";

/** The session of a signed-in browser. */
export interface BrowserSession {
  /** The id of the user. */
  readonly userId: string;
  readonly session: string;
  readonly untilMs: number;
}

/** A pending sign-in. */
export interface PendingSignIn {
  readonly state: string;
  readonly provider: string;
  readonly kept: KeptSignIn;
  /** The path and query of the request that continues after the sign-in. */
  readonly returnTo: string;
  readonly untilMs: number;
}

/**
 * The time limit for a sign-in, and for the decision on a consent page, in milliseconds.
 * @limit ms A sign-in, and the decision on a consent page. After it, the user must start again.
 */
export const SIGN_IN_MS = 10 * 60_000;

const SESSION = "mcp-edge-session";
/** The number of sign-in cookies. It is small, because a page can start any number of sign-ins, and each request sends all cookies. */
const SLOTS = 4;

/** Returns the session of a browser. Only the user's object can decide whether it was ended. */
export async function readSession({ request, env, server, issuer }: Visit): Promise<BrowserSession | undefined> {
  const text = readCookie(request, SESSION);
  const session = text && (await server.sealing.open<BrowserSession>(env, "OAuth browser", text, issuer));
  return session && Date.now() < session.untilMs ? session : undefined;
}

/** Returns the cookie of a session. */
export async function createSessionCookie(
  { url, env, server, issuer }: Visit,
  session: BrowserSession,
): Promise<string> {
  const value = await server.sealing.seal(env, "OAuth browser", session, issuer);
  return setCookie(url.href, SESSION, value, Math.floor((session.untilMs - Date.now()) / 1000));
}

/** Returns the cookie that ends a session. */
export function createEndedSessionCookie({ url }: Visit): string {
  return setCookie(url.href, SESSION, "", 0);
}

/** Returns the cookie of a sign-in. */
export async function createSignInCookie({ url, env, server, issuer }: Visit, pending: PendingSignIn): Promise<string> {
  const value = await server.sealing.seal(env, "OAuth sign-in", pending, issuer);
  return setCookie(url.href, getSlot(pending.state), value, SIGN_IN_MS / 1000);
}

/** Returns the pending sign-in of this browser with a state, and the cookie that ends it. Returns undefined if there is none. */
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
