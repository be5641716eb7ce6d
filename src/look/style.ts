/**
 * The style that all pages share: colours, typography, links, code and buttons.
 *
 * `light-dark()` follows the reader's colour scheme. With forced colours, the browser replaces all colours but keeps the borders,
 * which every control has. A browser without `light-dark()` (before 2024) uses its default colours, and the pages remain
 * readable.
 *
 * @module
 */

/** The design tokens, which the styles of individual pages also use. The author's colour replaces `--accent`. */
const TOKENS =
  ":root{color-scheme:light dark;--back:light-dark(#fff,#0e0f12);--side:light-dark(#f7f7f8,#16181c);" +
  "--line:light-dark(#e3e4e8,#2a2d34);--edge:light-dark(#cdd0d7,#444853);" +
  "--text:light-dark(#17181c,#eeeff2);--soft:light-dark(#5a5f6a,#a3a8b4);--accent:light-dark(#2257d6,#85a9ff);" +
  "--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;--round:.5rem;" +
  "font:1rem/1.5 system-ui,sans-serif;color:var(--text);background:var(--back);overflow-wrap:anywhere}";

/** The base style of all pages. */
export const BASE: string =
  `${TOKENS}*{box-sizing:border-box}body{margin:0}` +
  "h1,h2,h3{line-height:1.25;letter-spacing:-.015em;font-weight:600;text-wrap:balance}h1{font-size:1.75rem}h2{font-size:1.125rem}" +
  "a{color:var(--accent);text-underline-offset:.2em}code{font:.875em/1.6 var(--mono);font-variant-ligatures:none}" +
  "button,.button{font:inherit;font-weight:500;font-size:.9375rem;padding:.4375rem 1rem;border:1px solid var(--edge);border-radius:var(--round);" +
  "background:var(--back);color:var(--text);text-align:center;text-decoration:none;cursor:pointer}" +
  "button:hover,.button:hover{border-color:var(--text)}" +
  ".main{background:var(--accent);border-color:var(--accent);color:var(--back)}" +
  ":focus-visible{outline:2px solid var(--accent);outline-offset:2px}";
