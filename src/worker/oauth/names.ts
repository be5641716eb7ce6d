/**
 * Names that clients give themselves, made fit for showing.
 *
 * @module
 */

/** The most characters of a name. */
const NAME_MAX = 80;

/** Control characters, line separators, marks that reorder text, and characters without width. */
const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Returns a name without what could hide or reorder text, at most 80 characters long. Undefined if nothing is left. */
export function cleanName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const clean = name.replace(HIDDEN, "").replace(/\s+/g, " ").trim();
  return clean === "" ? undefined : [...clean].slice(0, NAME_MAX).join("");
}
