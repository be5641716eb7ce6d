/**
 * Makes a peer's text safe to show in error messages and logs.
 *
 * @module
 */
/**
 * The maximum number of characters of a peer's value that an error message repeats. The value may have megabytes.
 * @limit internal
 */
const SHOWN_MAX = 100;

/** Control characters (line breaks and terminal escapes among them), line separators, and marks that reorder text. */
const UNPRINTABLE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** Returns the text on one line, so that it cannot change how the text around it is shown. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Returns a peer's value for an error message or a log: as JSON, printable and shortened. */
export function quote(value: string): string {
  return printable(JSON.stringify(value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}...` : value));
}
