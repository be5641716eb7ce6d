/**
 * The questions that were sent to one legacy client and have no answer yet. Answers arrive as separate messages.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
import type { ClientFacts } from "../protocol/client-facts.ts";
import type {
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  RequestId,
} from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import { interrupted, overLimit, refused, timedOut } from "./question-errors.ts";
import { checkQuestion, type Ping, type Question, shapeQuestion } from "./questions.ts";

/** How a question is sent, and when it is cancelled. */
export interface AskOptions {
  readonly client: ClientFacts;
  /** Sends a message on the stream of the request that is being served. */
  readonly emit: (message: JSONRPCRequest | JSONRPCNotification) => void;
  /** The signal of the request that is being served. The question is cancelled when it aborts. */
  readonly signal: AbortSignal;
  /**
   * How long to wait for the answer. If undefined, the caller calls {@link PendingQuestions.expire} when the time is
   * over.
   */
  readonly timeoutMs: number | undefined;
  /** The id of a question that was sent before the object restarted. It is not sent again. */
  readonly askedAs?: RequestId | undefined;
  /** Called with the id before the question is sent. */
  readonly onAsk?: (id: string) => void;
}

interface Pending {
  expire(): void;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** The questions that one client has not answered yet. */
export class PendingQuestions {
  readonly #pending = new Map<RequestId, Pending>();
  #isOver = false;
  #samples = 0;

  /**
   * Sends a question and waits for its answer.
   *
   * @throws {QuestionError} if the client cannot answer, answers with an error, or does not answer in time. A question
   *   that timed out is cancelled. If `signal` aborts first, its reason is thrown.
   */
  ask(question: Question | Ping, options: AskOptions): Promise<unknown> {
    const { client, emit, signal, askedAs, onAsk } = options;
    checkQuestion(question, client);
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#isOver) return Promise.reject(interrupted());
    // Random, so that a late answer from before a restart cannot match another question.
    const id = askedAs ?? crypto.randomUUID();
    const answer = this.#wait(id, question, options);
    if (askedAs === undefined) {
      onAsk?.(id as string);
      emit({ jsonrpc: "2.0", id, method: question.method, params: shapeQuestion(question, client) });
    }
    return answer;
  }

  /** Waits for the answer. If it does not arrive in time or `signal` aborts, sends the client a cancellation. */
  #wait(id: RequestId, { method, params }: Question | Ping, { emit, signal, timeoutMs }: AskOptions): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const giveUp = (reason: string, error: unknown) => {
      settle();
      emit({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason, _meta: params?._meta },
      });
      reject(error);
    };
    const expire = () => giveUp("timed out", timedOut(method));
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
    const onAbort = () => giveUp("the request it belonged to is over", signal.reason);
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#pending.delete(id);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pending.set(id, {
      expire,
      resolve: (result) => {
        settle();
        resolve(result);
      },
      reject: (error) => {
        settle();
        reject(error);
      },
    });
    return promise;
  }

  /** Whether sampling requests have been counted. */
  get isCounting(): boolean {
    return this.#samples > 0;
  }

  /** Counts one sampling request. @throws {QuestionError} `limit`. */
  countSample({ samplesPerSessionMax }: Limits): void {
    if (this.#samples >= samplesPerSessionMax) throw overLimit("session", "samplesPerSessionMax", samplesPerSessionMax);
    this.#samples += 1;
  }

  /** Rejects all questions, including later ones, because the connection to the client has ended. */
  interrupt(): void {
    this.#isOver = true;
    for (const pending of [...this.#pending.values()]) pending.reject(interrupted());
  }

  /** Cancels a question that has timed out. Returns false if it is not pending here. */
  expire(id: RequestId): boolean {
    const pending = this.#pending.get(id);
    pending?.expire();
    return pending !== undefined;
  }

  /** Passes on an answer. Returns false if no question with its id is pending. */
  settle(response: JSONRPCResultResponse | JSONRPCErrorResponse): boolean {
    const pending = response.id === undefined ? undefined : this.#pending.get(response.id);
    if (pending) {
      if ("error" in response) pending.reject(refused(response.error));
      else pending.resolve(response.result);
    }
    return pending !== undefined;
  }
}
