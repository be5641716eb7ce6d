/**
 * Creates the responses that contain pages.
 *
 * @module
 */
import { accentStyle, type Brand } from "./brand.ts";
import { Html, html } from "./html.ts";

/** The parts of a page. */
export interface Document {
  readonly status?: number | undefined;
  readonly language: string;
  readonly title: Html;
  readonly body: Html;
  /** Additional elements of the head. */
  readonly head?: Html | undefined;
  /** The style with its SHA-256 hash, so that the policy allows only this style. */
  readonly style: Hashed;
  /** The script with its SHA-256 hash. Without it, the policy allows no scripts. */
  readonly script?: Hashed | undefined;
  /** The brand, whose colour is applied. */
  readonly brand: Pick<Brand, "accent">;
  /** The image sources of the policy. Without it, the page cannot load images. */
  readonly imageSource?: string | undefined;
  /** Whether the page has forms. */
  readonly hasForms?: boolean | undefined;
  /** Headers in addition to those of the policy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The text of a style or script, and its SHA-256 hash in base64. */
export interface Hashed {
  readonly text: string;
  readonly hash: string;
}

/**
 * Creates the response. The policy forbids framing the page and setting a base URL, and allows forms only to this origin. The
 * style with the author's colour has a nonce, because its hash would have to be computed for each colour.
 */
export function respond(document: Document): Response {
  const { status = 200, language, title, body, head, style, script, imageSource, hasForms, headers } = document;
  const { accent } = document.brand;
  const nonce = accent && crypto.randomUUID();
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${style.hash}'${nonce ? ` 'nonce-${nonce}'` : ""}`,
    ...(script ? [`script-src 'sha256-${script.hash}'`] : []),
    ...(imageSource === undefined ? [] : [`img-src ${imageSource}`]),
    "base-uri 'none'",
    `form-action ${hasForms ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ];
  const own = accent && html`<style nonce="${nonce}">${new Html(accentStyle(accent))}</style>`;
  const code = script && html`<script>${new Html(script.text)}</script>`;
  const text = html`<!doctype html><html lang="${language}" dir="auto"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}<title>${title}</title><style>${new Html(style.text)}</style>${own}</head><body>${body}${code}</body></html>
`;
  return new Response(text.toString(), {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Cache-Control": "no-store",
      "Content-Security-Policy": policy.join("; "),
      "X-Content-Type-Options": "nosniff",
      "X-Frame-Options": "DENY",
      ...headers,
    },
  });
}
