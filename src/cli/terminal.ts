/**
 * Output: data goes to standard output, everything else to standard error.
 *
 * @module
 */
import type { WriteStream } from "node:tty";

type Stream = Pick<WriteStream, "write"> & { readonly isTTY?: boolean; readonly columns?: number };

/** Formats text for one stream; without colours it returns the text unchanged. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/** The streams of the process, as commands use them. */
export interface Terminal {
  /** Writes a line of data to standard output. */
  print(text: string): void;
  /** Writes bytes to standard output. */
  write(bytes: Uint8Array): void;
  /** Writes a line for people to standard error. A line of progress is removed first. */
  note(text: string): void;
  /** Shows a line that the next one replaces. Shown only if standard error is a terminal. */
  status(text: string | undefined): void;
  /** Suspends `status`, so that a question on the screen is not overwritten. */
  suspendStatus(isSuspended: boolean): void;
  /** Colours for standard output. */
  readonly out: Paint;
  /** Colours for standard error. */
  readonly err: Paint;
  /** Whether standard output is a terminal. */
  readonly showsOutput: boolean;
  /** Whether someone can be asked: standard input and standard error are terminals. */
  readonly canAsk: boolean;
}

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

function paintFor(stream: Stream, env: NodeJS.ProcessEnv): Paint {
  // https://no-color.org: any value that is not empty.
  const hasColours = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  const entries = Object.entries(CODES).map(([name, [on, off]]) => {
    return [name, (text: string) => (hasColours ? `\u001b[${on}m${text}\u001b[${off}m` : text)];
  });
  // The members are those of CODES.
  return Object.fromEntries(entries) as Paint;
}

/** Creates the terminal of this process. */
export function createTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  const isLive = stderr.isTTY === true && env.TERM !== "dumb";
  let hasStatus = false;
  let isSuspended = false;
  const clear = () => {
    if (hasStatus) stderr.write("\r\u001b[2K");
    hasStatus = false;
  };
  return {
    print(text) {
      clear();
      stdout.write(`${text}\n`);
    },
    write(bytes) {
      clear();
      stdout.write(bytes);
    },
    note(text) {
      clear();
      stderr.write(`${text}\n`);
    },
    status(text) {
      if (!isLive) return;
      clear();
      if (text === undefined || isSuspended) return;
      // A longer line would wrap, and could not be removed again.
      stderr.write(fitting(text, (stderr.columns || 80) - 1));
      hasStatus = true;
    },
    suspendStatus(suspended) {
      if (suspended) clear();
      isSuspended = suspended;
    },
    out: paintFor(stdout, env),
    err: paintFor(stderr, env),
    showsOutput: stdout.isTTY === true,
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
  };
}

/** Characters that take two columns: those of Chinese, Japanese and Korean, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;

/** Returns the beginning of a text that fits into this many columns. */
function fitting(text: string, columns: number): string {
  let left = columns;
  const characters: string[] = [];
  for (const character of text) {
    left -= WIDE.test(character) ? 2 : 1;
    if (left < 0) break;
    characters.push(character);
  }
  return characters.join("");
}

/** Characters that could control a terminal or hide text. JSON.stringify escapes only those below U+0020. */
const UNSAFE = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Formats a value as JSON that is safe to print in a terminal, and equal to the value when it is parsed. */
export function toJson(value: unknown, indent?: number): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, undefined, indent).replace(UNSAFE, escaped);
}

/**
 * Removes what a server could use to control the terminal or to hide text: control characters other than line breaks and
 * tabs, and characters that change the direction of text.
 */
export function clean(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(/(?![\n\t])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "");
}

/** Cleans text and puts it on one line of at most `max` characters. A server may send something else in place of a text. */
export function oneLine(text: unknown, max = 100): string {
  const line = clean(typeof text === "string" ? text : (JSON.stringify(text) ?? ""))
    .replace(/\s+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length > max ? `${characters.slice(0, max - 1).join("")}…` : line;
}

/** A number with its noun: "1 tool", "2 tools". */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
