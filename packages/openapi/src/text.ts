/**
 * Text from a description, made safe for source code and for a model. Everything that is written into code passes through here.
 *
 * @module
 */

/** Control characters, and characters that are invisible, change the direction of text, or have no meaning. */
const HIDDEN =
  /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Cs}|\p{Co}|\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}|[\ufff9-\ufffb]/gu;
/** Matches directives that test runners and compilers obey in comments and strings. */
const DIRECTIVE = /@(?=vitest|jest|module-tag|ts-)/gi;

/** Whether a text contains a directive that test runners and compilers obey in a comment. */
export function hasDirective(text: string): boolean {
  return text.search(DIRECTIVE) >= 0;
}

/** Thrown for a description that cannot be used. Its message is shown. */
export class DescriptionError extends Error {
  override readonly name = "DescriptionError";
}

/** Whether a text contains invisible characters, which a reader of the code would not expect. */
export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

/**
 * Returns a string literal of TypeScript. Characters that cannot be seen are escaped, so a reader sees what the code does. The end of a
 * comment is escaped too, in case the literal is ever within one.
 */
export function quote(text: string): string {
  return JSON.stringify(text.toWellFormed?.() ?? text)
    .replace(HIDDEN, escapeUnits)
    .replace(DIRECTIVE, escapeUnits)
    .replaceAll("*/", "*\\/");
}

function escapeUnits(found: string): string {
  const units = found.split("").map((unit) => unit.charCodeAt(0).toString(16).padStart(4, "0"));
  return units.map((unit) => `\\u${unit}`).join("");
}

/** Returns the name of a member in code: bare if it is a plain identifier, or a string literal. */
export function memberName(name: string): string {
  // Only a computed name creates a member of this name. The others set the prototype.
  if (name === "__proto__") return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

/** Returns code that reads a member. */
export function memberOf(object: string, name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `${object}.${name}` : `${object}[${quote(name)}]`;
}

/** Returns text for a comment: one line without hidden characters and directives, which can end neither the comment nor a region. */
export function comment(text: string, charsMax = 120): string {
  return (
    shorten(oneLine(text), charsMax)
      .replaceAll("*/", "* /")
      // Consecutive characters are removed together, because the rest could form a directive again.
      .replace(/@+(?=\w)/g, "")
      .replace(/#[#\s]*(?=(?:end)?region)/gi, "")
  );
}

/** The maximum length of a text that is read, in characters. */
const READ_CHARS_MAX = 8_000;

/** Returns the text on one line, without markup and hidden characters. */
export function oneLine(text: string): string {
  return withoutComments(text.slice(0, READ_CHARS_MAX))
    .replace(/<\/?[a-z][^<>]{0,500}>/gi, " ")
    .replace(/!?\[([^[\]]{0,300})\]\([^()\s]{0,500}\)/g, "$1")
    .replace(/[\s\p{Zl}\p{Zp}]+/gu, " ")
    .replace(HIDDEN, "")
    .replaceAll(/\*\*|__/g, "")
    .trim();
}

/** Replaces comments of HTML by a space. A regular expression would look for the end again for each beginning. */
function withoutComments(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (;;) {
    const begin = text.indexOf("<!--", from);
    const end = begin < 0 ? -1 : text.indexOf("-->", begin + 4);
    if (end < 0) return [...parts, text.slice(from)].join(" ");
    parts.push(text.slice(from, begin));
    from = end + 3;
  }
}

/** Returns as many whole sentences as fit, or the beginning of the first one. */
export function shorten(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const begin = text.slice(0, charsMax - 1);
  const sentence = Math.max(begin.lastIndexOf(". "), begin.lastIndexOf(".) "));
  if (sentence > charsMax / 3) return begin.slice(0, sentence + 1);
  const word = begin.lastIndexOf(" ");
  return `${begin.slice(0, word > charsMax / 2 ? word : begin.length).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The maximum number of characters of a name that are split into words. */
const NAME_READ_MAX = 300;

/** Splits a name into its words, in lower case: `getPetById`, `pets/list-all` and `get_pet` alike. */
export function wordsOf(name: string): string[] {
  return name
    .slice(0, NAME_READ_MAX)
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== "");
}

/** Names that are devices on Windows, with any extension. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;

/** Returns a name of a file or folder, which contains only letters, digits and dashes. */
export function fileName(name: string, fallback: string): string {
  const words = wordsOf(name).join("-").slice(0, 40).replace(/-$/, "");
  if (DEVICES.test(words)) return `${words}-api`;
  return words === "" ? fallback : words;
}

/** Returns a name for code, such as `addPetStore`. */
export function pascal(name: string): string {
  return wordsOf(name)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

/** Returns the name, with a number if it is already taken. */
export function unique(name: string, taken: ReadonlySet<string>, separator = "_"): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1) {
    const numbered = `${name}${separator}${number}`;
    if (!taken.has(numbered)) return numbered;
  }
}
