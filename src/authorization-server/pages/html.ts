/**
 * The text of others in HTML, the style of the pages, and the response that contains a page.
 *
 * @module
 */
import { type Document, respond as respondWith } from "../../look/document.ts";
import { type Html, html, type Insertable } from "../../look/html.ts";
import { BASE } from "../../look/style.ts";
import { cleanText } from "../../safe/clean-text.ts";

/**
 * The maximum number of characters of a displayed name.
 * @limit characters A name on a page. A longer name is truncated.
 */
const NAME_MAX = 60;

/**
 * Returns an untrusted string on one line, truncated, without invisible characters and marks that reorder text, and with at most
 * three combining marks on each character.
 */
export function plain(text: string, max = NAME_MAX): string {
  const line = cleanText(text)
    .replace(/\s+/g, " ")
    .replace(/(\p{M}{3})\p{M}+/gu, "$1")
    .trim();
  const characters = [...line];
  return characters.length > max ? `${characters.slice(0, max).join("").trim()}…` : line;
}

/** Returns an untrusted string in a `bdi` element, so that its text direction cannot reorder the text around it. */
export function isolated(text: string, max?: number): Html {
  return html`<bdi>${plain(text, max)}</bdi>`;
}

/** Replaces the placeholders of a text, such as `{client}`. */
export function fill(text: string, values: Readonly<Record<string, Insertable>> = {}): Html {
  const parts = text.split(/\{(\w+)\}/);
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : values[part]))}`;
}

/**
 * The style of all pages. Names and hosts wrap anywhere, so that no part of them can be pushed out of sight.
 *
 * The button "Allow" ignores mouse clicks until the pointer has been over the page for a moment. Otherwise an attacker's page could
 * open a window in front of this page, ask for a double-click, and close the window between the two clicks, so that the second
 * click allows access. Keyboards, and devices without a mouse, are not delayed.
 */
export const STYLE: string =
  `${BASE}:root,.note{background:light-dark(var(--side),var(--back))}` +
  "main{max-width:30rem;margin:min(12vh,6rem) auto;padding:2rem;background:light-dark(var(--back),var(--side));border:1px solid var(--line);border-radius:1rem}" +
  "h1{font-size:1.375rem;margin:0 0 1rem}h2{font-size:1rem;margin:1.5rem 0 .5rem}dt{margin-top:1rem;color:var(--soft)}dd{margin:0}" +
  "img{display:block;max-height:3rem;max-width:100%;margin-bottom:1.5rem}.host{display:block;font-size:1.25rem;font-weight:700}" +
  ".note{border-left:.25rem solid var(--edge);border-radius:.25rem;padding:.25rem 1rem;margin:1rem 0}.note:empty{display:none}" +
  ".note p{margin:.5rem 0}ul{margin:.5rem 0;padding-left:1.25rem}form,.choice{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.5rem 0 0;padding:0;list-style:none}" +
  "button,.button{min-height:2.75rem;min-width:8rem;flex:1}.choice li{flex:1 0 100%;display:flex}.button{display:grid;place-content:center}" +
  ".entry{border-top:1px solid var(--line);margin-top:1.5rem}footer{margin-top:2rem;font-size:.875rem}footer a{color:var(--soft);margin-right:1rem}" +
  "@media(max-width:34rem){main{margin:0;border:0;border-radius:0;min-height:100vh}}" +
  "@media(hover:hover){html:not(:hover) [value=allow]{pointer-events:none}html:hover [value=allow]{animation:.6s wait}}" +
  "@keyframes wait{from,to{pointer-events:none}}";

/** The SHA-256 hash of {@link STYLE}. */
const STYLE_HASH = "BUTKozCicZt0+/uPOlije7s9kTcjBZBgIfE34jOrN6k=";

/** The parts of a page. */
export interface HtmlPage
  extends Pick<Document, "status" | "language" | "title" | "body" | "head" | "imageSource" | "hasForms" | "brand"> {
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[] | undefined;
}

/**
 * Creates the response for a page.
 *
 * - The Content Security Policy blocks scripts and frames around the page, and allows forms only to this origin. Chromium also
 *   applies `form-action` to redirects that follow a form, so the response to a form must not redirect to a client. See `goTo()`
 *   of {@link SignInPages}.
 * - The referrer policy is `same-origin`. With `no-referrer`, browsers send `Origin: null` with forms, as pages of other sites can.
 * - There is no Cross-Origin-Opener-Policy, because it would separate a client's page from the window that it has opened for the
 *   sign-in.
 */
export function respond({ cookies = [], body, ...page }: HtmlPage): Response {
  const response = respondWith({
    ...page,
    body: html`<main>${body}</main>`,
    style: { text: STYLE, hash: STYLE_HASH },
    headers: { "Referrer-Policy": "same-origin" },
  });
  for (const cookie of cookies) response.headers.append("Set-Cookie", cookie);
  return response;
}
