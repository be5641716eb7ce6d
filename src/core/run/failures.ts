/**
 * The errors of a run, for the author of its handler.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";

/** Returns the error for two open questions with the same key. */
export function duplicateKey(key: string): KitError {
  return new KitError("options-invalid", `The key "${key}" names two open questions.`);
}

/** Returns the error for questions that waited too long for running steps. */
export function stalled(steps: Iterable<string>, afterMs: number): KitError {
  const message =
    `A question waited for step ${list(steps)} longer than limits.elicitTimeoutMs, ${afterMs} ms. ` +
    "The step may be waiting for the answer: ask before or after the step.";
  return new KitError("timeout", message);
}

/** Returns the error for a handler that has diverged from its earlier runs. */
export function diverged(what: string): KitError {
  return new KitError(
    "replay-diverged",
    `In a repeated run, the handler ${what}. With the same answers, it must ask the same questions: read clocks, random ` +
      "values and changing data in ctx.step().",
  );
}

/** Joins keys or names for an error message. */
export function list(keys: Iterable<string>): string {
  return [...keys].map((key) => `"${key}"`).join(", ");
}
