/**
 * Questions of the server to a modern host. They are returned as the result of the host's request, while the server's call waits
 * until the host repeats the request with the answers.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { randomUUID } from "node:crypto";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { isObject, type JSONRPCRequest, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Origin } from "./host-questions.ts";

/** How long a call waits for the host to repeat its request, in milliseconds. */
const WAIT_MS = 3_600_000;

interface RoundQuestion {
  readonly method: string;
  readonly params: JsonObject;
  resolve(answer: JsonObject): void;
  reject(error: unknown): void;
}

/** A call to the server that may span several requests of the host. */
interface Running {
  /** The `requestState` that the host sends back to continue the call. */
  readonly state: string;
  readonly abort: AbortController;
  readonly questions: Map<string, RoundQuestion>;
  /** The host's request that is open now, and where its messages go. Replaced in each round. */
  round: Origin;
  outcome: Promise<JsonObject>;
  wake: () => void;
  expiry?: ReturnType<typeof setTimeout> | undefined;
}

export class Rounds {
  readonly #running = new Map<string, Running>();

  /**
   * Runs one round: starts the call, or continues it with the answers in the request.
   *
   * @returns the result of the call, or an `input_required` result.
   */
  async runRound(round: Origin, start: (round: Origin) => Promise<JsonObject>): Promise<JsonObject> {
    const { params = {} } = round.request;
    const state = typeof params.requestState === "string" ? params.requestState : undefined;
    const running = state === undefined ? this.#start(round, start) : this.#continue(state, params, round);
    const onAbort = () => running.abort.abort(round.signal.reason);
    round.signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#next(running);
    } finally {
      round.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Asks the host a question that belongs to one of its requests. Resolves with the answer. */
  ask(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    request: JSONRPCRequest | undefined,
  ): Promise<JsonObject> {
    const running = [...this.#running.values()].find(({ round }) => round.request === request) ?? this.#only();
    if (!running) {
      throw new McpError(ErrorCode.MethodNotFound, `${method} can be asked only during a single open call.`);
    }
    return new Promise((resolve, reject) => {
      const key = randomUUID();
      running.questions.set(key, { method, params, resolve, reject });
      signal.addEventListener("abort", () => {
        running.questions.delete(key);
        reject(signal.reason);
      });
      running.wake();
    });
  }

  close(reason: Error): void {
    for (const { abort, expiry } of this.#running.values()) {
      clearTimeout(expiry);
      abort.abort(reason);
    }
    this.#running.clear();
  }

  #only(): Running | undefined {
    const [first, ...others] = this.#running.values();
    return others.length === 0 ? first : undefined;
  }

  #start(round: Origin, start: (round: Origin) => Promise<JsonObject>): Running {
    const abort = new AbortController();
    const running: Running = {
      state: randomUUID(),
      abort,
      questions: new Map(),
      round,
      outcome: Promise.resolve({}),
      wake: () => {},
    };
    // Progress is sent on the request that is open when it arrives.
    const sink = { send: (message: Parameters<Origin["sink"]["send"]>[0]) => running.round.sink.send(message) };
    this.#running.set(running.state, running);
    running.outcome = start({ request: round.request, sink, signal: abort.signal }).finally(() => {
      clearTimeout(running.expiry);
      this.#running.delete(running.state);
    });
    running.outcome.catch(() => undefined);
    return running;
  }

  #continue(state: string, params: JsonObject, round: Origin): Running {
    const running = this.#running.get(state);
    if (!running)
      throw new McpError(
        ErrorCode.InvalidParams,
        "requestState does not belong to a call that is waiting for answers.",
      );
    clearTimeout(running.expiry);
    running.round = { ...round, request: running.round.request };
    const responses = isObject(params.inputResponses) ? params.inputResponses : {};
    for (const [key, question] of running.questions) {
      const answer = responses[key];
      if (!isObject(answer)) continue;
      running.questions.delete(key);
      question.resolve(answer);
    }
    return running;
  }

  /** Resolves with the result of the call, or with the questions asked before it. */
  async #next(running: Running): Promise<JsonObject> {
    const asked = new Promise<"asked">((resolve) => {
      // Questions that are asked together are sent together.
      running.wake = () => setImmediate(() => resolve("asked"));
    });
    if (running.questions.size > 0) running.wake();
    const outcome = await Promise.race([running.outcome, asked]);
    if (outcome !== "asked") return outcome;
    running.expiry = setTimeout(
      () => running.abort.abort(new Error("The host did not repeat its request with the answers.")),
      WAIT_MS,
    );
    running.expiry.unref();
    const questions = [...running.questions].map(([key, { method, params }]) => [key, { method, params }]);
    return { resultType: "input_required", inputRequests: Object.fromEntries(questions), requestState: running.state };
  }
}
