/**
 * The keys of the questions and steps of one run. A repeated run has the same keys if its handler does the same.
 *
 * @module
 */
import type { QuestionOptions } from "../ask/question-options.ts";
import { type Question, requireJson } from "../ask/questions.ts";
import { KitError } from "../protocol/errors.ts";
import { duplicateKey } from "./failures.ts";
import { computeDigest } from "./journal.ts";
import { currentStep } from "./step-scope.ts";

export class RunKeys {
  /** The number of uses of each name. */
  readonly #questions = new Map<string, number>();
  readonly #steps = new Map<string, number>();
  /** Keys of questions that equal an earlier question of this run. */
  readonly #repeated = new Set<string>();
  /** The author's keys of questions that have no answer yet. */
  readonly #inUse = new Set<string>();

  /** Whether a step was begun. */
  get hasSteps(): boolean {
    return this.#steps.size > 0;
  }

  /** Returns the key of a step: its name and a number. */
  ofStep(name: string): string {
    return numbered(name, this.#steps, 1);
  }

  /**
   * Asks under the author's key, or under a key derived from the question. A repeated key gets a number.
   *
   * @throws {KitError} `options-invalid` if a step asks, a parameter has no JSON form, or the author's key is in use.
   */
  async withQuestion<T>(
    question: Question,
    { key }: QuestionOptions = {},
    ask: (key: string) => Promise<T>,
  ): Promise<T> {
    requireJson(question);
    const step = currentStep();
    if (step !== undefined) {
      const message = `Step "${step}" asks ${question.method}, but steps must not ask. Ask before or after the step.`;
      throw new KitError("options-invalid", message);
    }
    if (key === undefined) {
      const kind = question.method.slice(0, question.method.indexOf("/"));
      return ask(this.#ofQuestion(`${kind}-${computeDigest(question)}`));
    }
    // The order of two concurrent questions may differ between runs.
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

/** Numbers the uses of a name. @param from The first use whose number is shown. */
function numbered(name: string, uses: Map<string, number>, from: number): string {
  const use = (uses.get(name) ?? 0) + 1;
  uses.set(name, use);
  return use < from ? name : `${name}.${use}`;
}
