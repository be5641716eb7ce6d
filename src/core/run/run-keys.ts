/**
 * The keys of the questions and steps of one run. A run that repeats another gives the same keys, as long as its handler
 * does the same.
 *
 * @module
 */
import type { QuestionOptions } from "../ask/asker.ts";
import { type Question, requireJson } from "../ask/questions.ts";
import { KitError } from "../protocol/errors.ts";
import { duplicateKey } from "./failures.ts";
import { digestOf } from "./journal.ts";
import { currentStep } from "./step-scope.ts";

export class RunKeys {
  /** How often each name was used. */
  readonly #questions = new Map<string, number>();
  readonly #steps = new Map<string, number>();
  /** Keys of questions whose equal was asked earlier in this run. */
  readonly #repeated = new Set<string>();
  /** The author's keys of questions that have no answer yet. */
  readonly #inUse = new Set<string>();

  /** Whether a step was begun. */
  get hasSteps(): boolean {
    return this.#steps.size > 0;
  }

  /** The key of a step: its name and a number. */
  ofStep(name: string): string {
    return numbered(name, this.#steps, 1);
  }

  /**
   * Asks under the author's key, or one made of the question. A key that was used before gets a number.
   *
   * @throws {KitError} `options-invalid` when a step asks, a parameter has no JSON form, or the author's key is in use.
   */
  async withQuestion<T>(
    question: Question,
    { key }: QuestionOptions = {},
    ask: (key: string) => Promise<T>,
  ): Promise<T> {
    requireJson(question);
    const step = currentStep();
    if (step !== undefined) {
      const message = `Step "${step}" asks ${question.method}. A step is done in one go: ask before it, or after.`;
      throw new KitError("options-invalid", message);
    }
    if (key === undefined) {
      const kind = question.method.slice(0, question.method.indexOf("/"));
      return ask(this.#ofQuestion(`${kind}-${digestOf(question)}`));
    }
    // Which of two concurrent ones is the first may differ between runs.
    if (this.#inUse.has(key)) throw duplicateKey(key);
    this.#inUse.add(key);
    try {
      return await ask(this.#ofQuestion(key));
    } finally {
      this.#inUse.delete(key);
    }
  }

  /** Whether an equal question was asked earlier in this run. */
  isRepeated(key: string): boolean {
    return this.#repeated.has(key);
  }

  #ofQuestion(name: string): string {
    const key = numbered(name, this.#questions, 2);
    if (key !== name) this.#repeated.add(key);
    return key;
  }
}

/** @param from The first use that shows its number. */
function numbered(name: string, uses: Map<string, number>, from: number): string {
  const use = (uses.get(name) ?? 0) + 1;
  uses.set(name, use);
  return use < from ? name : `${name}.${use}`;
}
