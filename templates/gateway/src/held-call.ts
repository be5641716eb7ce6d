/**
 * A call to a server of 2025-11-25 or older that may ask the user. Such a server asks in the middle of the call, and waits for the
 * answer on the open connection. The gateway's own clients may get the question as the answer of one request, and give theirs
 * with the next one. So something must hold the call between these two: at the edge a Durable Object.
 */
import type { Question } from "mcp-edge";
import type { Client, ServerFacts } from "mcp-edge/client";
import { describeFailure, type Failure, open } from "./connection.ts";
import type { Upstream } from "./upstreams.ts";

/** A request to a server, as JSON. */
export interface UpstreamCall {
  readonly upstream: Upstream;
  readonly token?: string | undefined;
  /** What is known of the server. It saves a request. */
  readonly known?: ServerFacts | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** What the caller can be asked. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** What a call has come to, as JSON. */
export interface Outcome {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly failure?: Failure;
  /** The questions that must be answered first, and the state to give back with the answers. */
  readonly questions?: Readonly<Record<string, Question>>;
  readonly state?: string | undefined;
}

export type OnProgress = (progress: number, total?: number, message?: string) => void;

/** The user has this long to answer. The connection stays open meanwhile. */
const HOLD_MS = 15 * 60_000;

export class HeldCall {
  readonly #ending = new AbortController();
  readonly #questions = new Map<string, Question>();
  readonly #waiting = new Map<string, (answer: Record<string, unknown>) => void>();
  #result: Promise<Outcome> | undefined;
  #asked = Promise.withResolvers<void>();
  #onProgress: OnProgress | undefined;
  #count = 0;

  /** Sends the request. Resolves with its outcome, or with questions. */
  begin(call: UpstreamCall, onProgress: OnProgress): Promise<Outcome> {
    this.#result = this.#run(call);
    return this.#next(onProgress);
  }

  /** Answers the questions, and resolves as `begin` does. */
  async answer(answers: Readonly<Record<string, unknown>>, onProgress: OnProgress): Promise<Outcome> {
    if (!this.#result) {
      const message =
        "The call was lost while it waited for the answer, and may have run up to its question. Call it again.";
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
      // Progress between two requests of the caller reaches nobody.
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

  /** Between machines the function returns a promise, which rejects if the caller has gone. */
  #report(...progress: Parameters<OnProgress>): void {
    void Promise.resolve(this.#onProgress?.(...progress)).catch(() => undefined);
  }

  /** Takes a question of the server. Resolves with the answer of the user. */
  #ask(method: string, { _meta, ...params }: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
    if (method === "ping") return Promise.resolve({});
    this.#count += 1;
    const key = `question-${this.#count}`;
    this.#questions.set(key, { method: method as Question["method"], params });
    this.#asked.resolve();
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }
}
