/**
 * The cookie that recognises a browser, and the forms that only the pages of that browser can send.
 *
 * The cookie holds a random secret. A form contains a code that is computed from the secret and from what the form is
 * about (a double-submit cookie, bound to the pending request). A foreign page can neither read the secret nor compute
 * the code.
 *
 * Over HTTPS the cookie has the prefix `__Host-`: it comes from this host, over HTTPS, and neither a subdomain nor a
 * network attacker can set it. Over plain HTTP on this machine it has neither the prefix nor `Secure`, because some
 * browsers refuse both there. Other ports of this machine then share the cookie, which is accepted for development
 * only. Over plain HTTP to any other host there is no cookie, so nobody can sign in.
 *
 * @module
 * @see RFC 6265bis, section 4.1.3.2
 */
import { decodeBase64Url, encodeBase64Url, encodeText, toHex } from "../../core/basics/bytes.ts";
import { isLoopback } from "../../http/origin.ts";
import { readText } from "../routes/forms.ts";

/** Whether cookies of this request can be trusted: over HTTPS, or on this machine. */
export function canSignIn({ url }: Pick<Request, "url">): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || isLoopback(hostname);
}

function nameAt(url: string, name: string): string {
  return new URL(url).protocol === "https:" ? `__Host-${name}` : name;
}

/**
 * Returns the value of a cookie that {@link setCookie} has set. Undefined if there is none, or several, of which one
 * may be a foreign one.
 */
export function readCookie(request: Request, name: string): string | undefined {
  const start = `${nameAt(request.url, name)}=`;
  const cookies = (request.headers.get("Cookie") ?? "").split(";").map((cookie) => cookie.trim());
  const found = cookies.filter((cookie) => cookie.startsWith(start)).map((cookie) => cookie.slice(start.length));
  return found.length === 1 ? found[0] : undefined;
}

/**
 * Returns a `Set-Cookie` value. Scripts cannot read the cookie, and other sites' forms do not send it (`SameSite=Lax`).
 * `Strict` would not be sent when an identity provider sends the browser back.
 *
 * @param url The URL of the request.
 * @param value Characters of base64url and ".".
 * @param maxAgeSeconds The lifetime; 0 removes the cookie. Undefined: until the browser is closed.
 */
export function setCookie(url: string, name: string, value: string, maxAgeSeconds?: number): string {
  const isSecure = new URL(url).protocol === "https:";
  const age = maxAgeSeconds === undefined ? "" : `; Max-Age=${maxAgeSeconds}`;
  return `${nameAt(url, name)}=${value}; Path=/${age}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
}

/** The name of the cookie with the secret of a browser. */
const COOKIE = "mcp-edge-browser";
const SECRET_BYTES = 32;

/** A browser that shows the pages. */
export interface Browser {
  /** Identifies the browser to this server. Keep it with a pending request, and compare it when the browser returns. */
  readonly id: string;
  /** The `Set-Cookie` value to send with the next page. Undefined if the browser has its cookie already. */
  readonly cookie: string | undefined;
  /**
   * Returns the code for a form.
   * @param purpose What the form is about, such as `consent:` and the id of the request.
   */
  codeFor(purpose: string): Promise<string>;
}

/**
 * Returns the browser that sent a request, or a new one.
 *
 * @param isNew Whether the browser gets a new secret. Use it after a sign-in, so that nobody who knew the old one
 * shares the
 *   session. @default false
 */
export async function readBrowser(request: Request, isNew = false): Promise<Browser> {
  const known = isNew ? undefined : decodeBase64Url(readCookie(request, COOKIE) ?? "");
  const isKnown = known?.length === SECRET_BYTES;
  const secret = isKnown ? known : crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const sign = (text: string) => crypto.subtle.sign("HMAC", key, encodeText(text));
  return {
    id: toHex(new Uint8Array(await sign("browser"))),
    cookie: isKnown ? undefined : setCookie(request.url, COOKIE, encodeBase64Url(secret)),
    codeFor: async (purpose) => encodeBase64Url(new Uint8Array(await sign(`form:${purpose}`))),
  };
}

/**
 * The maximum number of bytes of a form.
 * @limit bytes A form of the pages. A longer one gets 403.
 */
const FORM_MAX = 16_384;

/**
 * Reads a form of one of the pages. Undefined if the form may come from elsewhere: another site, another browser, or a
 * form about something else.
 *
 * @param getPurpose Returns what the form must be about, from its fields. They are not to be trusted before this
 * function
 *   returns.
 */
export async function readPageForm(
  request: Request,
  getPurpose: (fields: URLSearchParams) => string,
): Promise<URLSearchParams | undefined> {
  const { method, url, headers } = request;
  const type = headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase();
  if (method !== "POST" || type !== "application/x-www-form-urlencoded" || !canSignIn(request)) return undefined;
  const origin = headers.get("Origin");
  if (origin !== null && origin !== new URL(url).origin) return undefined;
  if ((headers.get("Sec-Fetch-Site") ?? "same-origin") !== "same-origin") return undefined;
  const text = await readText(request, FORM_MAX);
  if (text === undefined) return undefined;
  const fields = new URLSearchParams(text);
  const { cookie, codeFor } = await readBrowser(request);
  // A browser without its cookie has not seen the page.
  if (cookie !== undefined) return undefined;
  return isSame(fields.get("code") ?? "", await codeFor(getPurpose(fields))) ? fields : undefined;
}

/** Compares two texts in a time that depends on their length only. */
function isSame(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let at = 0; at < expected.length; at += 1) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at);
  return difference === 0;
}
