/** Renders the output of a program as a page that looks like a terminal, in the style of the kit. */
import { BASE } from "../../src/look/style.ts";

/** The styles of a terminal that the command line uses, by their codes. */
const STYLES: Readonly<Record<string, string>> = {
  "1": "font-weight:600",
  "2": "color:var(--soft)",
  "31": "color:light-dark(#b42318,#ff9c8f)",
  "32": "color:light-dark(#1a7f43,#6fdc9b)",
  "33": "color:light-dark(#8a5a00,#f0c060)",
  "36": "color:var(--accent)",
};

const ESCAPE = "\u001b";
/** Matches a style, or another sequence, which has no effect on text. */
const SEQUENCE = new RegExp(`${ESCAPE}\\[(?:(\\d*)m|[?\\d;]*[A-Za-z])`, "g");

const PAGE_STYLE =
  "body{padding:1.5rem;background:var(--side)}pre{margin:0;padding:1.25rem 1.5rem;border:1px solid var(--line);border-radius:.75rem;" +
  "background:var(--back);font:.875rem/1.6 var(--mono);font-variant-ligatures:none;white-space:pre-wrap}.typed{color:var(--soft);user-select:none}.run{display:block;margin-top:1rem}.run:first-child{margin-top:0}";

/** A command, and its output with escape sequences. */
export interface Run {
  readonly typed: string;
  readonly output: string;
}

/** Returns a page that shows commands and their output. */
export function terminalPage(runs: readonly Run[]): string {
  const shown = runs.map(({ typed, output }) => {
    return `<span class="run"><span class="typed">$ </span>${escapeHtml(typed)}\n${toHtml(output.replaceAll("\r\n", "\n").trimEnd())}</span>`;
  });
  return `<!doctype html><html lang="en"><title>A terminal</title><style>${BASE}${PAGE_STYLE}</style><pre>${shown.join("")}</pre>`;
}

/** Returns text with escape sequences as HTML. */
export function toHtml(text: string): string {
  let html = "";
  let end = 0;
  let depth = 0;
  for (const { 0: sequence, 1: code, index } of text.matchAll(SEQUENCE)) {
    html += escapeHtml(text.slice(end, index));
    end = index + sequence.length;
    if (code === undefined) continue;
    const style = STYLES[code];
    if (style !== undefined) {
      html += `<span style="${style}">`;
      depth += 1;
    } else if (depth > 0) {
      html += "</span>";
      depth -= 1;
    }
  }
  return html + escapeHtml(text.slice(end)) + "</span>".repeat(depth);
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
