/**
 * Tells words from texts that may be secrets, for what is shown although it is not known to be harmless: names, paths, keys.
 *
 * @module
 */

/**
 * A piece of a name: words in one or several humps, with a number at the end, or a short number. Of words with two letters, only common
 * ones count in a hump, because other pairs of letters may be random.
 */
const PIECE =
  /^(?:(?:[A-Z]?[a-z]{2,14}|At|By|Id|In|Is|Of|On|To|Up){1,4}[A-Z]?\d{0,3}|[A-Z]{1,10}\d{0,3}|[A-Z][a-z]|[a-z]\d{0,3}|\d{1,8})$/;

/** Characters between the pieces of a name. */
const BETWEEN = /[-_./: ~+()&,']+/;

/** The maximum number of characters and pieces of a name. */
const [NAME_MAX, PIECES_MAX] = [80, 8];

/** Whether a text is a name that an author would give: words and short numbers, and nothing that looks random. */
export function isName(text: string): boolean {
  if (text.length > NAME_MAX) return false;
  const pieces = text.split(BETWEEN).filter((piece) => piece !== "");
  return pieces.length <= PIECES_MAX && pieces.every((piece) => PIECE.test(piece));
}

/** Returns a name, or a text that says how long it is. */
export function toName(text: string): string {
  return isName(text) ? text : describeText(text);
}

/** Stands in place of a text whose content is not shown. */
export function describeText(text: string): string {
  return `<text, ${text.length} ${text.length === 1 ? "character" : "characters"}>`;
}

/** Whether a text is the reason of an error as mcp-edge and OAuth write it: words in lower case. */
export function isReason(text: string): boolean {
  return /^[a-z]{1,24}(?:[-_][a-z]{1,24}){0,5}$/.test(text);
}
