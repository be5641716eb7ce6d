/**
 * A call to a server of 2025-11-25 or older that may ask the user questions. Such a server asks in the middle of the call, and waits for
 * the answer on the open connection. A client of the gateway may receive the question as the result of one request, and send the
 * answer in the next one. Between these requests, something must hold the call open; in a Worker, that is a Durable Object.
 */
import type { Question } from "mcp-edge";
import type { Client, ServerFacts } from "mcp-edge/client";
import { describeFailure, type Failure, open } from "./connection.ts";
import type { Upstream } from "./upstreams.ts";

/** A request to a server, as JSON. */
export interface UpstreamCall {
  readonly upstream: Upstream;
  readonly token?: string | undefined;
  /** What is known about the server. It saves a request. */
  readonly known?: ServerFacts | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The capabilities of the caller, which determine what it can be asked. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** The outcome of a call so far, as JSON. */
export interface Outcome {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly failure?: Failure;
  /** The questions that must be answered first, and the state to return with the answers. */
  readonly questions?: Readonly<Record<string, Question>>;
  readonly state?: string | undefined;
}

export type OnProgress = (progress: number, total?: number, message?: string) => void;

/** How long a call may take, including the time that the user needs to answer, in milliseconds. */
const HOLD_MS = 15 * 60_000;

export class HeldCall {
  readonly #ending = new AbortController();
  readonly #questions = new Map<string, Question>();
  readonly #waiting = new Map<string, (answer: Record<string, unknown>) => void>();
  #result: Promise<Outcome> | undefined;
  #asked = Promise.withResolvers<void>();
  #onProgress: OnProgress | undefined;
  #count = 0;

  /** Sends the request. Resolves with its result, or with questions. */
  begin(call: UpstreamCall, onProgress: OnProgress): Promise<Outcome> {
    this.#result = this.#run(call);
    return this.#next(onProgress);
  }

  /** Answers the questions. Resolves like `begin`. */
  async answer(answers: Readonly<Record<string, unknown>>, onProgress: OnProgress): Promise<Outcome> {
    if (!this.#result) {
      const message =
        "The call was lost while it waited for the answer. It may have run up to the question. Call it again.";
      return { failure: { message } };
    }
    this.#asked = Promise.withResolvers();
    for (const [key, answer] of Object.entries(answers)) {
      this.#questions.delete(key);
      this.#waiting.get(key)?.(answer as Record<string, unknown>);
      this.#waiting.delete(key);
    }
    if (this.#questions.size > 0) this.#asked.resolve();
    return this.#next(onProgress);
  }

  cancel(): void {
    this.#ending.abort(new Error("The caller cancelled the call."));
  }

  async #next(onProgress: OnProgress): Promise<Outcome> {
    this.#onProgress = onProgress;
    const asks = this.#asked.promise.then((): Outcome => ({ questions: Object.fromEntries(this.#questions) }));
    try {
      return await Promise.race([this.#result as Promise<Outcome>, asks]);
    } finally {
      // Between two requests of the caller, no one can receive progress.
      this.#onProgress = undefined;
    }
  }

  async #run({ upstream, token, known, method, params, capabilities }: UpstreamCall): Promise<Outcome> {
    const timer = setTimeout(() => this.cancel(), HOLD_MS);
    let client: Client | undefined;
    try {
      client = await open(upstream, token, {
        serverFacts: known,
        use: [() => ({ capabilities, onQuestion: (question) => this.#ask(question.method, question.params) })],
      });
      const result = await client.request(method, params, {
        signal: this.#ending.signal,
        timeoutMs: 0,
        onProgress: ({ progress, total, message }) => this.#report(progress, total, message),
      });
      return { result };
    } catch (error) {
      return { failure: describeFailure(upstream, error) };
    } finally {
      clearTimeout(timer);
      await client?.close().catch(() => undefined);
    }
  }

  /** Reports progress. Over RPC, the function returns a promise, which rejects if the caller has disconnected. */
  #report(...progress: Parameters<OnProgress>): void {
    void Promise.resolve(this.#onProgress?.(...progress)).catch(() => undefined);
  }

  /** Stores a question of the server. Resolves with the user's answer. */
  #ask(method: string, { _meta, ...params }: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
    if (method === "ping") return Promise.resolve({});
    this.#count += 1;
    const key = `question-${this.#count}`;
    this.#questions.set(key, { method: method as Question["method"], params });
    this.#asked.resolve();
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }
}
