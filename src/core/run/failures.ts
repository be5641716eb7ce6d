/**
 * The errors of a run, in words for the author of its handler.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";

/** One key, two questions. */
export function duplicateKey(key: string): KitError {
  return new KitError("options-invalid", `The key "${key}" names two questions at once.`);
}

/** Questions that could not go out, for the steps they wait for. */
export function stalled(steps: Iterable<string>, afterMs: number): KitError {
  const message =
    `A question waited for step ${list(steps)} longer than limits.elicitTimeoutMs, ${afterMs} ms. ` +
    "The step may itself wait for the answer: ask before or after it.";
  return new KitError("timeout", message);
}

/** The handler is not the one that asked before. */
export function diverged(what: string): KitError {
  return new KitError(
    "replay-diverged",
    `Run again, the handler ${what}. Between questions a handler does the same with the same answers: keep clocks, ` +
      "random values and what others may change in ctx.step().",
  );
}

/** Keys or names, as text. */
export function list(keys: Iterable<string>): string {
  return [...keys].map((key) => `"${key}"`).join(", ");
}
