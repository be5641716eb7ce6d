/**
 * The response that carries a page.
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
  /** Elements for the head. */
  readonly head?: Html | undefined;
  /** The style with its SHA-256 hash, so that the policy allows this style only. */
  readonly style: Hashed;
  /** The script with its SHA-256 hash. Without it, the policy admits none. */
  readonly script?: Hashed | undefined;
  /** The brand, whose colour is applied. */
  readonly brand: Pick<Brand, "accent">;
  /** The sources of images for the policy. Without it, the page can load no image. */
  readonly imageSource?: string | undefined;
  /** Whether the page has forms. */
  readonly hasForms?: boolean | undefined;
  /** Headers in addition to those of the policy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Text of a style or script, with its SHA-256 hash as base64. */
export interface Hashed {
  readonly text: string;
  readonly hash: string;
}

/**
 * Creates the response. The policy admits no frame around the page, no base URL, and forms to this origin only. The style with the
 * colour of the author has a nonce, because its hash would have to be computed for each colour.
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
