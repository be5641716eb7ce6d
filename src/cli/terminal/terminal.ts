/**
 * Output. Data goes to standard output, everything else to standard error.
 *
 * Most text comes from servers, which may be hostile, so all characters that could control the terminal or hide text are removed
 * here. That includes escape sequences for colours. The program therefore marks its own colours with unguessable markers, which
 * become escape sequences after the text was cleaned.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import type { WriteStream } from "node:tty";
import { cleanText } from "../../safe/clean-text.ts";
import { withoutGiven } from "./redact.ts";

type OutputStream = Pick<WriteStream, "write"> & { readonly isTTY?: boolean; readonly columns?: number };

/** Formats text for one stream. Returns it unchanged if the stream does not support colours. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/** The standard streams of the process. */
export interface Terminal {
  /** Writes a line to standard output. */
  print(text: string): void;
  /** Writes text from a server to standard output: cleaned for a terminal, unchanged for a file or another program. */
  printData(text: string): void;
  /** Writes bytes to standard output. */
  write(bytes: Uint8Array): void;
  /** Writes a human-readable line to standard error. A status line is removed first. */
  note(text: string): void;
  /** Shows a status line, which replaces the previous one; undefined removes it. Shown only if standard error is a terminal. */
  status(text: string | undefined): void;
  /** Hides the status line, so that it does not overwrite a question on the screen. */
  suspendStatus(isSuspended: boolean): void;
  /** Colours for standard output. */
  readonly out: Paint;
  /** Colours for standard error. */
  readonly err: Paint;
  /** Whether standard output is a terminal. */
  readonly showsOutput: boolean;
  /** Whether the user can be asked: standard input and standard error are terminals. */
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

/** The marker before the number of a colour. Its random part cannot be guessed, so no text from a server contains it. */
const MARK = `\ue000${randomBytes(12).toString("hex")}`;
const MARKS = new RegExp(`${MARK}(\\d+);`, "g");

/** Cleans text, and turns the markers of this program into colours. */
function render(text: string): string {
  return clean(text).replace(MARKS, "\u001b[$1m");
}

function paintFor(stream: OutputStream, env: NodeJS.ProcessEnv): Paint {
  // https://no-color.org: any value that is not empty.
  const hasColours = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  const entries = Object.entries(CODES).map(([name, [on, off]]) => {
    return [name, (text: string) => (hasColours ? `${MARK}${on};${text}${MARK}${off};` : text)];
  });
  // The entries have the same names as CODES.
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
      stdout.write(`${render(text)}\n`);
    },
    printData(text) {
      clear();
      stdout.write(`${stdout.isTTY === true ? render(text) : text}\n`);
    },
    write(bytes) {
      clear();
      stdout.write(bytes);
    },
    note(text) {
      clear();
      stderr.write(`${render(withoutGiven(text))}\n`);
    },
    status(text) {
      if (!isLive) return;
      clear();
      if (text === undefined || isSuspended) return;
      // A longer line would wrap, and could not be removed.
      stderr.write(fitting(oneLine(text, STATUS_CHARS_MAX), (stderr.columns || 80) - 1));
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

/** The maximum number of characters of the status line before it is cut to the width of the terminal. */
const STATUS_CHARS_MAX = 1_000;

/** Characters that occupy two columns: Chinese, Japanese and Korean ones, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;

/** Returns the beginning of the text that fits into a number of columns. */
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

/** Characters that could control a terminal or hide text. JSON.stringify escapes only those up to U+001F. */
const UNSAFE =
  /(?!\n)\p{Cc}|\p{Cf}|\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}|[\u2028\u2029\ufff9-\ufffb]/gu;

/** Formats a value as JSON that is safe to print in a terminal. Parsing it returns an equal value. */
export function toJson(value: unknown, indent?: number): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, undefined, indent).replace(UNSAFE, (found) => found.split("").map(escaped).join(""));
}

/**
 * Removes everything that could control the terminal or hide text: escape sequences, control characters other than line breaks and
 * tabs, and characters that are invisible or change the direction of text.
 */
export function clean(text: string): string {
  return cleanText(text);
}

/** Shows the numbers of all characters that could control the terminal or hide text, for text that the user has to judge. */
export function visible(text: string): string {
  return text.replace(UNSAFE, (found) => (found === "\t" ? found : `\\u{${found.codePointAt(0)?.toString(16) ?? ""}}`));
}

/**
 * Formats a value on one line of at most `max` characters: cleaned, and with registered secrets redacted. A value that is not a
 * string is formatted as JSON, because a server may send the wrong type.
 */
export function oneLine(text: unknown, max = 100): string {
  return resultLine(withoutGiven(clean(toText(text))), max);
}

/** Formats a part of a result on one line of at most `max` characters. It is the user's data, so nothing is redacted. */
export function resultLine(text: unknown, max = 100): string {
  const line = clean(toText(text)).replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length > max ? `${characters.slice(0, max - 1).join("")}…` : line;
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** The maximum number of lines, and of characters in a line, that are shown of a server's text. */
const [QUOTED_LINES_MAX, QUOTED_CHARS_MAX] = [12, 500];

/**
 * Marks each line of a server's text, so that it cannot look like a message of this program, and redacts registered secrets. Lines
 * longer than the width of the terminal are divided. Empty lines and lines above the maximum are left out.
 */
export function quoted(text: string, { linesMax = QUOTED_LINES_MAX }: { readonly linesMax?: number } = {}): string {
  const width = Math.max(20, (process.stderr.columns ?? 80) - 4);
  const lines = withoutGiven(clean(text))
    .split("\n")
    .filter((line) => line.trim() !== "")
    .flatMap((line) => divided(shortened(line), width));
  const more = lines.length - linesMax;
  const shown = more > 0 ? [...lines.slice(0, linesMax), `(${counted(more, "more line")})`] : lines;
  return shown.map((line) => `  | ${line}`).join("\n");
}

function shortened(line: string): string {
  return line.length > QUOTED_CHARS_MAX ? `${line.slice(0, QUOTED_CHARS_MAX)}…` : line;
}

/** Divides a line into pieces that fit into a number of columns. */
function divided(line: string, columns: number): string[] {
  const pieces: string[] = [];
  for (let rest = line; rest !== ""; ) {
    const piece = fitting(rest, columns) || [...rest].slice(0, 1).join("");
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces;
}

/** Returns a number with its noun, such as "1 tool" or "2 tools". */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
