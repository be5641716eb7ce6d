/** How VitePress converts the documents. A document is text: nothing in it is HTML, an expression or a directive of Vue, or a file. */
import { anchorOf } from "./pages.ts";

export const MARKDOWN = {
  // Documents contain no HTML. Text in angle brackets is text.
  html: false,
  anchor: { slugify: anchorOf },
  // Other attributes could be directives of Vue, such as `v-html`, or event handlers. The class is for pictures in light and dark mode.
  attrs: { allowed: ["class"] },
  // Documents insert no other files, such as files outside of the documents.
  snippet: false,
  include: false,
  config: (markdown: Markdown): void => {
    markdown.core.ruler.push("empty-headers", ({ tokens }) => tokens.forEach(replaceEmptyHeader));
    for (const name of ["text", "code_inline"]) {
      const render = markdown.renderer.rules[name];
      // Vue would evaluate the text between two braces, when the site is built and in the browser.
      markdown.renderer.rules[name] = (...args) => render?.(...args).replaceAll("{", "&#123;") ?? "";
    }
  },
  theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } as const,
};

/** Makes an empty header cell an ordinary cell, because a screen reader would announce a header without a name. */
function replaceEmptyHeader(token: Token, at: number, tokens: readonly Token[]): void {
  if (token.type !== "th_open" || tokens[at + 1]?.content !== "") return;
  const close = tokens.slice(at).find(({ type }) => type === "th_close");
  token.tag = "td";
  if (close) close.tag = "td";
}
/** The part of markdown-it that is used here. The types of VitePress would add those of browsers to the types of the tests. */
interface Markdown {
  readonly core: { readonly ruler: { push(name: string, rule: (state: { readonly tokens: Token[] }) => void): void } };
  readonly renderer: { readonly rules: { [name: string]: ((...args: never[]) => string) | undefined } };
}
interface Token {
  readonly type: string;
  readonly content: string;
  tag: string;
}
