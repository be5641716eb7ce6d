/**
 * Makes the names of clients, which are untrusted, safe to display.
 *
 * @module
 */
import { plain } from "../pages/html.ts";

/**
 * The maximum number of characters of a name.
 * @limit characters The name of a client. A longer name is truncated.
 */
const NAME_MAX = 80;

/** Returns a name on one line, truncated, without characters that hide or reorder text. Returns undefined if no text remains. */
export function cleanName(name: unknown): string | undefined {
  return typeof name === "string" ? plain(name, NAME_MAX) || undefined : undefined;
}
