/**
 * Checks the redirect URIs of clients and of authorization requests.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Communication Security"; RFC 8252, sections 7 and 8; RFC 9700, section 4.1
 */
import { isLoopback } from "../../http/origin.ts";

/**
 * The maximum number of characters of a redirect URI.
 * @limit characters A redirect URI. A longer one is refused.
 */
const URI_MAX = 1_024;

/** Schemes that browsers handle themselves: no app would receive the response, or a script would run. */
const BROWSER_SCHEMES =
  /^(?:javascript|vbscript|data|blob|file|filesystem|about|chrome|edge|view-source|ftp|wss?|mailto|tel|sms|intent|https?):$/;

/** Returns whether the scheme of a URL, such as `cursor:`, can belong to an app. */
export function isAppScheme(protocol: string): boolean {
  return !BROWSER_SCHEMES.test(protocol);
}

/**
 * Returns why a client must not have a redirect URI, or undefined if it may.
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
 * Returns whether a request may name a redirect URI. The URI must be equal to a registered URI, character by character. Only the
 * port of a loopback URI may differ, because a program on the user's machine listens on any free port.
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  return registered.includes(uri) || registered.some((each) => isSameLoopback(uri, each));
}

/** The start of a loopback URI, such as `http://127.0.0.1:8080`. It cannot contain a user name or another host. */
const LOOPBACK = /^http:\/\/(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?(?=[/?]|$)/;

function isSameLoopback(uri: string, registered: string): boolean {
  const [start, host] = LOOPBACK.exec(uri) ?? [];
  const [registeredStart, registeredHost] = LOOPBACK.exec(registered) ?? [];
  if (start === undefined || registeredStart === undefined || host !== registeredHost) return false;
  return URL.canParse(uri) && uri.slice(start.length) === registered.slice(registeredStart.length);
}

/** Adds parameters to a redirect URI. Its existing query is kept. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.append(name, value);
  return url.href;
}
