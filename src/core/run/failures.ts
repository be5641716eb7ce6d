/**
 * What goes wrong with a run, in words for the author of its handler.
 *
 * @module
 */
import { QuestionError } from "../ask/asker.ts";
import { KitError } from "../protocol/errors.ts";

/** The handler has returned. */
export function closed(what: string): KitError {
  return new KitError("context-closed", `${what} is off: the handler has returned.`);
}

/** One key, two questions. */
export function twice(key: string): KitError {
  return new KitError("options-invalid", `The key "${key}" names two questions at once.`);
}

/** Questions that could not go out, for the steps they wait for. */
export function stalled(steps: Iterable<string>, afterMs: number): KitError {
  const message =
    `A question was to be asked once what is under way is done: step ${list(steps)}. That was not so within ` +
    `limits.elicitTimeoutMs, ${afterMs}. If the step waits for the answer: ask before it, or after.`;
  return new KitError("timeout", message);
}

/** Too many sampling requests. */
export function overLimit(max: number): QuestionError {
  const message = `This call has asked the client's model ${max} times, the most that limits.samplesPerCallMax allows.`;
  return new QuestionError("limit", message);
}

/** The handler is not the one that was asked. */
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
