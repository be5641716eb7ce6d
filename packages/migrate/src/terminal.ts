/**
 * Output. Sources of strangers are printed, so everything that could control the terminal or hide text is removed first.
 *
 * @module
 */

/** Colours. Without a terminal, they return the text unchanged. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

/** The maximum number of characters shown of a line. */
const LINE_CHARS_MAX = 300;

/** Matches control characters except tabs, and characters that are invisible or change the direction of text. */
const UNSAFE = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns text that is safe to print: one line, without control characters, and shortened. */
export function clean(text: string): string {
  const safe = text.replace(/[\n\r]+/g, " ").replace(UNSAFE, "\u{fffd}");
  return safe.length > LINE_CHARS_MAX ? `${safe.slice(0, LINE_CHARS_MAX)}... (${safe.length} characters)` : safe;
}

/** Returns the colours for a stream. */
export function paintFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  const hasColours = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  const paint = (on: number, off: number) => (text: string) =>
    hasColours ? `\u001b[${on}m${clean(text)}\u001b[${off}m` : clean(text);
  return { bold: paint(1, 22), dim: paint(2, 22), red: paint(31, 39), green: paint(32, 39), yellow: paint(33, 39) };
}
