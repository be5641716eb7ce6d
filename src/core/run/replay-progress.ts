/**
 * Tracks how far a run has repeated earlier runs: which of their questions it has asked again.
 *
 * @module
 */
import { isEarly, type JournalData } from "./journal.ts";

export class ReplayProgress {
  /** Keys of questions that earlier runs asked and this run has not asked yet. */
  readonly #unasked: Set<string>;
  /** Keys of questions that were open when the previous run ended. */
  readonly #askedLast: ReadonlySet<string>;
  readonly #answers: ReadonlyMap<string, unknown>;
  /** Whether all earlier questions were asked again, so that the messages of the handler are new. */
  isPastReplay: boolean;
  /** Whether this run has shown that the handler has not diverged. */
  isSame: boolean;

  /** @param answers The answers in the journal, by key. */
  constructor({ entries, asked }: JournalData, answers: ReadonlyMap<string, unknown>) {
    this.#answers = answers;
    // A handler need not ask a question whose answer the client sent in advance.
    const answered = entries.filter((entry) => !("step" in entry || isEarly(entry)));
    this.#askedLast = new Set(asked.map(([key]) => key));
    this.#unasked = new Set([...answered.map(({ key }) => key), ...this.#askedLast]);
    this.isPastReplay = this.#unasked.size === 0;
    this.isSame = this.unreached().length === 0;
  }

  /** Records that a question was asked. Returns whether an earlier run had asked it, and this run had not. */
  reach(key: string): boolean {
    if (!this.#unasked.delete(key)) return false;
    if (this.#askedLast.has(key)) this.isSame = true;
    if (this.#unasked.size === 0) {
      queueMicrotask(() => {
        this.isPastReplay = true;
      });
    }
    return true;
  }

  /** Returns the keys of questions that the previous run asked, that were answered, and that this run has not asked. */
  unreached(): string[] {
    return [...this.#askedLast].filter((key) => this.#unasked.has(key) && this.#answers.has(key));
  }
}
