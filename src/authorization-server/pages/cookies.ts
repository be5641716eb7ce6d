/**
 * The cookie that identifies a browser, and forms that can be sent only from pages in that browser.
 *
 * The cookie contains a random secret. A form contains a code that is computed from the secret and the purpose of the form (a
 * double-submit cookie that is bound to the pending request). A page of another site can neither read the secret nor compute
 * the code.
 *
 * Over HTTPS, the cookie has the prefix `__Host-`, so neither a subdomain nor a network attacker can set it. Over plain HTTP on a
 * loopback address, it has neither the prefix nor `Secure`, because some browsers refuse both there. All ports of the machine
 * then share the cookie, which is acceptable only for development. Over plain HTTP to any other host, no cookie is set, so users
 * cannot sign in.
 *
 * @module
 * @see RFC 6265bis, section 4.1.3.2
 */
import { decodeBase64Url, encodeBase64Url, encodeText, toHex } from "../../core/basics/bytes.ts";
import { isLoopback } from "../../http/origin.ts";
import { readText } from "../routes/forms.ts";

/** Returns whether cookies of this request can be trusted, which requires HTTPS or a loopback address. */
export function canSignIn({ url }: Pick<Request, "url">): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || isLoopback(hostname);
}

function nameAt(url: string, name: string): string {
  return new URL(url).protocol === "https:" ? `__Host-${name}` : name;
}

/**
 * Returns the value of a cookie that {@link setCookie} has set. Returns undefined if the request has no such cookie, or several, of
 * which one may come from an attacker.
 */
export function readCookie(request: Request, name: string): string | undefined {
  const start = `${nameAt(request.url, name)}=`;
  const cookies = (request.headers.get("Cookie") ?? "").split(";").map((cookie) => cookie.trim());
  const found = cookies.filter((cookie) => cookie.startsWith(start)).map((cookie) => cookie.slice(start.length));
  return found.length === 1 ? found[0] : undefined;
}

/**
 * Returns a `Set-Cookie` value. Scripts cannot read the cookie, and forms of other sites do not send it (`SameSite=Lax`). With
 * `Strict`, it would not be sent when an identity provider redirects the browser back.
 *
 * @param url The URL of the request.
 * @param value A value of base64url characters and ".".
 * @param maxAgeSeconds The lifetime in seconds. 0 removes the cookie. Without it, the cookie is removed when the browser is closed.
 */
export function setCookie(url: string, name: string, value: string, maxAgeSeconds?: number): string {
  const isSecure = new URL(url).protocol === "https:";
  const age = maxAgeSeconds === undefined ? "" : `; Max-Age=${maxAgeSeconds}`;
  return `${nameAt(url, name)}=${value}; Path=/${age}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
}

/** The name of the cookie with the secret of a browser. */
const COOKIE = "mcp-edge-browser";
const SECRET_BYTES = 32;

/** The browser that sent a request. */
export interface Browser {
  /** Identifies the browser. Store it with a pending request, and compare it when the browser returns. */
  readonly id: string;
  /** The `Set-Cookie` value to send with the next page. Undefined if the browser already has its cookie. */
  readonly cookie: string | undefined;
  /**
   * Returns the code for a form.
   * @param purpose The purpose of the form, such as `consent:` followed by the id of the request.
   */
  codeFor(purpose: string): Promise<string>;
}

/**
 * Returns the browser that sent a request. If it has no cookie, it receives a new secret.
 *
 * @param isNew Whether the browser receives a new secret in any case. Set it after a sign-in, so that the session is not shared with
 *   anyone who knew the old secret. @default false
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
 * @limit bytes A form of the pages. A longer one is refused with 403.
 */
const FORM_MAX = 16_384;

/**
 * Reads a form of one of the pages. Returns undefined if the form may come from another site, another browser, or a page with
 * another purpose.
 *
 * @param getPurpose Returns the required purpose of the form. It receives the fields of the form before they are verified.
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
  // A browser that does not have the cookie has not loaded the page.
  if (cookie !== undefined) return undefined;
  return isSame(fields.get("code") ?? "", await codeFor(getPurpose(fields))) ? fields : undefined;
}

/** Compares two strings in a time that depends only on their length. */
function isSame(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let at = 0; at < expected.length; at += 1) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at);
  return difference === 0;
}
