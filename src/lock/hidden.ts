/**
 * Characters that a reader cannot see, or cannot tell from others.
 *
 * @module
 */

/** Characters that a reviewer cannot see, except the line feeds between members, which JSON escapes in strings. */
const HIDDEN =
  /(?!\n)\p{Cc}|\p{Cf}|\p{Cs}|\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}|[\u2028\u2029\ufff9-\ufffb]/gu;

const NOT_ASCII = /[^\n -~]/gu;

/** Replaces characters that are invisible, or that change how the text around them is displayed, with escapes as in JSON. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN, escaped);
}

/** Replaces all characters except ASCII with escapes as in JSON, so that texts that look the same can be told apart. */
export function escapeAll(text: string): string {
  return text.replace(NOT_ASCII, escaped);
}

/** Whether two texts that differ look the same. */
export function isAlike(one: string, other: string): boolean {
  const shown = (text: string) => text.replace(HIDDEN, "").normalize("NFKC");
  return shown(one) === shown(other);
}

function escaped(found: string): string {
  return found
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
