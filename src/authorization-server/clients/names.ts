/**
 * Names that clients give themselves, made fit for showing.
 *
 * @module
 */
import { plain } from "../pages/html.ts";

/**
 * The maximum number of characters of a name that are kept.
 * @limit characters The name of a client that is kept. It is cut off.
 */
const NAME_MAX = 80;

/** Returns a name without what could hide or reorder text, on one line and shortened. Undefined if nothing is left. */
export function cleanName(name: unknown): string | undefined {
  return typeof name === "string" ? plain(name, NAME_MAX) || undefined : undefined;
}
