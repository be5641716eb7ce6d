/**
 * Redirect URIs: which ones a client may have, and which one of them a request may name.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Communication Security"; RFC 8252, sections 7 and 8; RFC 9700, section 4.1
 */
import { isLoopback } from "../../http/origin.ts";

/**
 * The longest redirect URI.
 * @limit characters A redirect URI. A client with a longer one is refused.
 */
const URI_MAX = 1_024;

/** Schemes that browsers handle themselves, so that no app receives the answer, or a script would run. */
const BROWSER_SCHEMES =
  /^(?:javascript|vbscript|data|blob|file|filesystem|about|chrome|edge|view-source|ftp|wss?|mailto|tel|sms|intent|https?):$/;

/** Whether an app can own the scheme of a URL, such as `cursor:`. */
export function isAppScheme(protocol: string): boolean {
  return !BROWSER_SCHEMES.test(protocol);
}

/**
 * Says why a client may not have a redirect URI, or returns undefined if it may.
 *
 * @param schemes The private-use schemes that are allowed, without the colon.
 */
export function findRedirectProblem(uri: unknown, schemes: readonly string[]): string | undefined {
  if (typeof uri !== "string" || uri.length > URI_MAX || !URL.canParse(uri)) return "is not an absolute URL";
  const { protocol, hostname, username, password } = new URL(uri);
  if (uri.includes("#")) return "has a fragment";
  if (username !== "" || password !== "") return "has a user name or a password";
  if (protocol === "https:") return undefined;
  if (protocol === "http:") return isLoopback(hostname) ? undefined : "uses http: for a host that is not loopback";
  if (!isAppScheme(protocol) || !schemes.includes(protocol.slice(0, -1))) return "has a scheme that is not allowed";
  return undefined;
}

/**
 * Whether a request may name a redirect URI. The URIs must be equal, character by character. Only the port of a loopback URI
 * may differ, because a program on the user's machine takes any free one.
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  return registered.includes(uri) || registered.some((each) => isSameLoopback(uri, each));
}

/** The beginning of a loopback URI that has no user name and no other host in it: `http://127.0.0.1:8080`. */
const LOOPBACK = /^http:\/\/(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?(?=[/?]|$)/;

function isSameLoopback(uri: string, registered: string): boolean {
  const [start, host] = LOOPBACK.exec(uri) ?? [];
  const [registeredStart, registeredHost] = LOOPBACK.exec(registered) ?? [];
  if (start === undefined || registeredStart === undefined || host !== registeredHost) return false;
  return URL.canParse(uri) && uri.slice(start.length) === registered.slice(registeredStart.length);
}

/** Returns a redirect URI with further parameters. Its own query is kept. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.append(name, value);
  return url.href;
}
