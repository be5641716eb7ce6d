/**
 * Removes characters from text that people cannot see but programs and models act on.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import { isObject } from "../core/protocol/jsonrpc.ts";

/** Options of {@link cleanText}. */
export interface CleanTextOptions {
  /**
   * Whether to escape the text for HTML and Markdown: `& < > " '` become character references, and the colon of schemes that run
   * scripts (`javascript:`, `vbscript:`, `data:`) is percent-encoded. Use it for text that a client may render. It makes code and
   * formulas hard to read.
   *
   * @default false
   */
  readonly escapeHtml?: boolean;
}

const OPTIONS: OptionTable<CleanTextOptions> = { escapeHtml: null };

/**
 * ANSI escape sequences (ECMA-48): strings with their terminator (titles, links, clipboard), control sequences (colors,
 * cursor), and two-character escapes. An unterminated string ends at the end of its line. `\x90` to `\x9f` are the one-character
 * forms of these sequences.
 */
const ANSI = new RegExp(
  [
    "(?:\\x1b[PX\\]^_]|[\\x90\\x98\\x9d-\\x9f])[^\\x07\\x1b\\x9c\\r\\n]*(?:\\x07|\\x1b\\\\|\\x9c|(?=[\\r\\n\\x1b])|$)",
    "(?:\\x1b\\[|\\x9b)[\\x30-\\x3f]*[\\x20-\\x2f]*[\\x40-\\x7e]?",
    "\\x1b[\\x20-\\x2f]*[\\x30-\\x7e]?",
  ].join("|"),
  "g",
);

/** Scripts in which a zero-width joiner or non-joiner changes how letters are displayed. */
const JOINING_SCRIPTS = "Arab Beng Deva Gujr Guru Knda Khmr Mlym Mong Mymr Orya Sinh Syrc Taml Telu Tibt".split(" ");
const JOINING = JOINING_SCRIPTS.map((script) => `\\p{Script_Extensions=${script}}`).join("");

/**
 * Invisible characters in places where they have a visible effect: joiners between letters of the scripts above or between
 * emojis, and a single variation selector after an emoji, in a keycap, or after an ideograph.
 */
const NEEDED = [
  `(?<=[${JOINING}])[\\u200c\\u200d](?=[${JOINING}])`,
  "(?<=\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?)\\u200d(?=\\p{Extended_Pictographic})",
  "(?<=\\p{Extended_Pictographic})[\\ufe0e\\ufe0f]",
  "(?<=[\\d#*])\\ufe0f(?=\\u20e3)",
  "(?<=\\p{Script=Han})[\\u{e0100}-\\u{e01ef}]",
].join("|");

/**
 * Control characters except tab and line feed, all characters that Unicode defines as default-ignorable (zero-width and
 * tag characters, direction overrides, variation selectors, fillers), annotation marks, and unpaired surrogates.
 */
const HIDDEN =
  "(?![\\t\\n])\\p{Cc}|\\p{Default_Ignorable_Code_Point}|[\\ufff9-\\ufffb]|\\p{Cs}|\\p{Noncharacter_Code_Point}";

const INVISIBLE = new RegExp(`(?<needed>${NEEDED})|${HIDDEN}`, "gu");

/**
 * Schemes that run scripts. Browsers remove tabs and line breaks from URLs, so these may occur between the letters. Markdown
 * removes a backslash before the colon.
 */
const SCHEMES = ["javascript", "vbscript", "livescript", "data"].map((scheme) => [...scheme].join("[\\t\\n\\r]*"));
const ACTIVE_SCHEME = new RegExp(`\\b(${SCHEMES.join("|")})(\\s*(?:\\\\[\\t\\n\\r]*)?):`, "gi");

/**
 * Returns a text without invisible characters and control characters: ANSI escape sequences, direction overrides, zero-width and
 * tag characters (which can hide instructions), and unpaired surrogates. Line breaks become `\n`. Visible text of all scripts and
 * emojis are kept, except that flags of subdivisions of countries become a black flag.
 *
 * Cleaning a text twice has the same result as cleaning it once, unless HTML is escaped.
 *
 * @throws {KitError} `options-invalid` for an option that does not exist.
 */
export function cleanText(text: string, options: CleanTextOptions = {}): string {
  checkOptions("cleanText(): ", options, OPTIONS);
  const lines = text.replace(/\r\n?|[\u0085\u2028\u2029]/g, "\n").replace(ANSI, "");
  const visible = lines.replace(INVISIBLE, (found, ...rest) => (rest.at(-1).needed === undefined ? "" : found));
  return options.escapeHtml ? escapeHtml(visible) : visible;
}

function escapeHtml(text: string): string {
  const inactive = text.replace(ACTIVE_SCHEME, "$1$2%3A");
  return inactive.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * Returns a copy of a JSON value in which a function has replaced all strings, such as the text of a tool result. Names of
 * members, and the binary members `data` and `blob`, are not changed.
 *
 * ```ts
 * const result = mapText({ content: [{ type: "text", text: "a\u200bb" }] }, (text) => cleanText(text));
 * ```
 */
export function mapText<T>(value: T, change: (text: string) => string): T {
  return changed(value, change) as T;
}

function changed(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((each) => changed(each, change));
  if (!isObject(value) || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value;
  const isBinary = (name: string) => (name === "data" && "mimeType" in value) || (name === "blob" && "uri" in value);
  const members = Object.entries(value).map(([name, member]) => {
    return [name, isBinary(name) ? member : changed(member, change)] as const;
  });
  return Object.fromEntries(members);
}
