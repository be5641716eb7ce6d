/**
 * The questions of a modern task. They are answered with the client's handlers, at the same time, and their answers are sent
 * together once all are there.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Task Update Requests"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { ExtensionContext } from "../api/extensions.ts";
import { ClientError, toText } from "../basics/errors.ts";
import { Lanes } from "../basics/lanes.ts";
import { QUESTIONS_PER_CALL } from "../requests/rounds.ts";

interface Question {
  readonly withdrawing: AbortController;
  answer?: JsonObject;
}

export class TaskQuestions {
  readonly #answer: ExtensionContext["answer"];
  readonly #onChange: () => void;
  /** The questions that the server waits for, by key. */
  readonly #open = new Map<string, Question>();
  /** The keys of answers that were sent. The server may list them for a while. */
  readonly #sent = new Set<string>();
  readonly #lanes = new Lanes(QUESTIONS_PER_CALL);
  #failure: ClientError | undefined;

  /** @param onChange Called when a question was answered or could not be answered. */
  constructor(answer: ExtensionContext["answer"], onChange: () => void) {
    this.#answer = answer;
    this.#onChange = onChange;
  }

  /** Asks the questions that are new, and withdraws those that the server no longer asks. */
  take(inputRequests: JsonObject): void {
    for (const [key, { withdrawing }] of this.#open) {
      if (Object.hasOwn(inputRequests, key)) continue;
      this.#open.delete(key);
      withdrawing.abort(new Error("The task continues without the answer."));
    }
    for (const [key, request] of Object.entries(inputRequests)) {
      if (!this.#sent.has(key) && !this.#open.has(key)) void this.#ask(key, request);
    }
  }

  /**
   * Returns the answers to send, or undefined as long as one is missing.
   *
   * @throws {ClientError} `question-failed` if a handler has thrown. The next call of {@link take} asks again.
   */
  answers(): JsonObject | undefined {
    const failure = this.#failure;
    if (failure) {
      this.stop();
      throw failure;
    }
    const answered = [...this.#open].map(([key, { answer }]) => [key, answer] as const);
    if (answered.length === 0 || answered.some(([, answer]) => answer === undefined)) return undefined;
    return Object.fromEntries(answered);
  }

  /** Remembers that answers have reached the server. */
  markSent(answers: JsonObject): void {
    for (const key of Object.keys(answers)) {
      this.#sent.add(key);
      this.#open.delete(key);
    }
  }

  /** Withdraws all questions, because nobody waits for the task any more. */
  stop(): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#failure = undefined;
    for (const { withdrawing } of open) withdrawing.abort(new Error("The task is no longer awaited."));
  }

  async #ask(key: string, request: unknown): Promise<void> {
    const question: Question = { withdrawing: new AbortController() };
    this.#open.set(key, question);
    const { method, params } = (isObject(request) ? request : {}) as { method?: unknown; params?: unknown };
    const { signal } = question.withdrawing;
    try {
      question.answer = await this.#lanes.run(() =>
        this.#answer(String(method), isObject(params) ? params : {}, { signal }),
      );
    } catch (cause) {
      if (signal.aborted) return;
      // An answer of a task cannot say that it failed.
      const text = `The task asked ${String(method)}, which failed: ${toText(cause)}`;
      this.#failure = new ClientError("question-failed", text, { cause, mayHaveRun: true });
    }
    this.#onChange();
  }
}
