/**
 * Bounds the work of comparing schemas, which may be hostile.
 *
 * @module
 */
import { toSortedText } from "./json.ts";

/** The maximum work of all comparisons of one contract, in units. @limit internal */
const WORK_MAX = 150_000;
/** The number of characters of a JSON text that cost one unit of work. */
const UNIT_CHARS = 100;

/** Thrown within `src/lock` when a comparison has used up its budget. */
export class ExhaustedError extends Error {
  override readonly name = "ExhaustedError";
}

/** The remaining work of all comparisons together. Each schema, keyword, name and change costs a unit, and so does copying them. */
export class Budget {
  #left = WORK_MAX;

  /** @throws {ExhaustedError} if less work remains. */
  charge(units = 1): void {
    this.#left -= units;
    if (this.#left < 0) throw new ExhaustedError();
  }

  /** Returns the sorted JSON text of a value. @throws {ExhaustedError} @throws {DepthError} */
  text(value: unknown): string {
    const text = toSortedText(value);
    this.charge(1 + Math.floor(text.length / UNIT_CHARS));
    return text;
  }
}
