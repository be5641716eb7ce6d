/**
 * Creates HTML in which all inserted strings are escaped, and the responses that contain it.
 *
 * @module
 */
import { cleanText } from "../../safe/clean-text.ts";

/** A piece of HTML. It has its own class, so that a string is never inserted as HTML. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** A value that can be inserted into HTML. Strings are escaped, and undefined is omitted. */
export type Insertable = string | Html | undefined | readonly Insertable[];

/** Creates HTML from a template. Attribute values must be in double quotes. */
export function html(template: TemplateStringsArray, ...inserted: readonly Insertable[]): Html {
  return new Html(template.map((part, index) => part + insert(inserted[index])).join(""));
}

function insert(value: Insertable): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.toString();
  if (typeof value !== "string") return value.map(insert).join("");
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

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
 * The style of all pages. System colours follow the dark or light mode and the contrast that the user has chosen. Names and hosts
 * wrap anywhere, so that no part of them can be pushed out of sight.
 *
 * The button "Allow" ignores mouse clicks until the pointer has been over the page for a moment. Otherwise an attacker's page could
 * open a window in front of this page, ask for a double-click, and close the window between the two clicks, so that the second
 * click allows access. Keyboards, and devices without a mouse, are not delayed.
 */
export const STYLE =
  ":root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}" +
  "body{margin:0}main{max-width:32rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}" +
  "h1{font-size:1.4rem}h2{font-size:1.1rem}dt{margin-top:1rem}dd{margin:0}img{max-height:4rem;max-width:100%}" +
  ".host{display:block;font-size:1.25rem;font-weight:700}.note{border-left:.3rem solid;padding:.1rem .8rem;margin:1rem 0}" +
  "form,.choice{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0;padding:0;list-style:none}" +
  "button,.choice a{font:inherit;min-height:2.75rem;min-width:8rem;padding:.5rem 1rem;border:1px solid;border-radius:.4rem;" +
  "display:inline-block;box-sizing:border-box;background:ButtonFace;color:ButtonText;text-align:center;text-decoration:none;cursor:pointer}" +
  ":focus-visible{outline:.2rem solid Highlight;outline-offset:.15rem}.entry{border-top:1px solid;padding-top:.5rem}" +
  "@media(hover:hover){html:not(:hover) [value=allow]{pointer-events:none}html:hover [value=allow]{animation:.6s wait}}" +
  "@keyframes wait{from,to{pointer-events:none}}";

/** The SHA-256 hash of {@link STYLE}, which is the only style that the Content Security Policy allows. */
const STYLE_HASH = "PQUDve7Nn3hB/2g/cCMA54e2Znb+8C9KCDJUGUx+wc8=";

/** The parts of a page. */
export interface HtmlPage {
  readonly status?: number;
  readonly language: string;
  readonly title: Html;
  readonly body: Html;
  /** Additional elements of the head. */
  readonly head?: Html | undefined;
  /** The source of the logo in the Content Security Policy. Without it, the page cannot load images. */
  readonly imageSource?: string | undefined;
  /** Whether the page has forms. */
  readonly hasForms?: boolean;
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
export function respond(page: HtmlPage): Response {
  const { status = 200, language, title, body, head, imageSource, hasForms = false, cookies = [] } = page;
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    ...(imageSource === undefined ? [] : [`img-src ${imageSource}`]),
    "base-uri 'none'",
    `form-action ${hasForms ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ];
  const headers = new Headers({
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": policy.join("; "),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
  });
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  const text = html`<!doctype html><html lang="${language}" dir="auto"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}<title>${title}</title><style>${new Html(STYLE)}</style></head><body><main>${body}</main></body></html>
`;
  return new Response(text.toString(), { status, headers });
}
