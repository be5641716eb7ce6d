/**
 * The questions of a modern task. The handlers of the client answer them concurrently, and all answers are sent together.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Task Update Requests"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { ExtensionContext } from "../api/extensions.ts";
import { ConcurrencyLimit } from "../basics/concurrency-limit.ts";
import { ClientError, toText } from "../basics/errors.ts";
import { QUESTIONS_PER_CALL } from "../requests/rounds.ts";

interface TaskQuestion {
  readonly withdrawing: AbortController;
  answer?: JsonObject;
}

export class TaskQuestions {
  readonly #answer: ExtensionContext["answer"];
  readonly #onChange: () => void;
  /** The open questions by key. */
  readonly #open = new Map<string, TaskQuestion>();
  /** The keys of the answers that were sent. The server may still list these questions for a while. */
  readonly #sent = new Set<string>();
  readonly #limit = new ConcurrencyLimit(QUESTIONS_PER_CALL);
  #failure: ClientError | undefined;

  /** @param onChange Called when a handler has answered a question or has failed. */
  constructor(answer: ExtensionContext["answer"], onChange: () => void) {
    this.#answer = answer;
    this.#onChange = onChange;
  }

  /** Starts to answer new questions, and withdraws the questions that the server no longer lists. */
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
   * Returns the answers to send, or undefined while an answer is missing.
   *
   * @throws {ClientError} `question-failed` if a handler has thrown. The next call of {@link take} calls the handlers again.
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

  /** Marks answers as sent, so that their questions are not answered again. */
  markSent(answers: JsonObject): void {
    for (const key of Object.keys(answers)) {
      this.#sent.add(key);
      this.#open.delete(key);
    }
  }

  /** Withdraws all questions, because the task is no longer awaited. */
  stop(): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#failure = undefined;
    for (const { withdrawing } of open) withdrawing.abort(new Error("The task is no longer awaited."));
  }

  async #ask(key: string, request: unknown): Promise<void> {
    const question: TaskQuestion = { withdrawing: new AbortController() };
    this.#open.set(key, question);
    const { method, params } = (isObject(request) ? request : {}) as { method?: unknown; params?: unknown };
    const { signal } = question.withdrawing;
    try {
      question.answer = await this.#limit.run(() =>
        this.#answer(String(method), isObject(params) ? params : {}, { signal }),
      );
    } catch (cause) {
      if (signal.aborted) return;
      // The protocol has no answer for a failed handler.
      const text = `The task asked ${String(method)}, which failed: ${toText(cause)}`;
      this.#failure = new ClientError("question-failed", text, { cause, mayHaveRun: true });
    }
    this.#onChange();
  }
}
