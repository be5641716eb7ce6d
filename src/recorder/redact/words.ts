/**
 * Distinguishes words from strings that may be secrets. Used for names, paths and keys, which are shown if they consist of words.
 *
 * @module
 */

/**
 * A part of a name: camel-case words with an optional number at the end, or a short number. Two-letter words must be common
 * words, because other pairs of letters may be random.
 */
const PIECE =
  /^(?:(?:[A-Z]?[a-z]{2,14}|At|By|Id|In|Is|Of|On|To|Up){1,4}[A-Z]?\d{0,3}|[A-Z]{1,10}\d{0,3}|[A-Z][a-z]|[a-z]\d{0,3}|\d{1,8})$/;

/** Separators between the parts of a name. */
const BETWEEN = /[-_./: ~+()&,']+/;

/** The maximum number of characters and parts of a name. */
const [NAME_MAX, PIECES_MAX] = [80, 8];

/** Returns whether a string is a plausible name: it consists of words and short numbers, and no part looks random. */
export function isName(text: string): boolean {
  if (text.length > NAME_MAX) return false;
  const pieces = text.split(BETWEEN).filter((piece) => piece !== "");
  return pieces.length <= PIECES_MAX && pieces.every((piece) => PIECE.test(piece));
}

/** Returns a name unchanged, or a placeholder with the length of another string. */
export function toName(text: string): string {
  return isName(text) ? text : describeText(text);
}

/** Returns the placeholder for a string that is not shown. */
export function describeText(text: string): string {
  return `<text, ${text.length} ${text.length === 1 ? "character" : "characters"}>`;
}

/** Returns whether a string has the form of an error reason of mcp-edge or OAuth: lower-case words. */
export function isReason(text: string): boolean {
  return /^[a-z]{1,24}(?:[-_][a-z]{1,24}){0,5}$/.test(text);
}
