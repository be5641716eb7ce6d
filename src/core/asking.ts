/**
 * Requests a server sends to a legacy client while it serves one of the client's own, and the answers that come back
 * by another message.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
import { type AskedBy, type AskedOptions, type Asker, QuestionError } from "./asker.ts";
import type { ClientFacts } from "./client-facts.ts";
import { KitError, McpError } from "./errors.ts";
import type {
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  JsonObject,
  RequestId,
} from "./jsonrpc.ts";
import type { Limits } from "./limits.ts";
import type { Question } from "./question.ts";
import {
  checkSampleParams,
  elicitQuestion,
  type Ping,
  readAnswer,
  readElicitResult,
  readRoots,
  readSampleResult,
  refusedQuestion,
  requireAnswerable,
  requireJson,
  shapeQuestion,
} from "./questions.ts";
import { answerOf, type JournalEntry } from "./replay/journal.ts";
import { audited } from "./sampling-audit.ts";
import { warnOfSecrets } from "./secret-fields.ts";
import { urlParams } from "./url-elicitation.ts";

/** Where a question goes out, and when it is given up. */
export interface AskOptions {
  readonly client: ClientFacts;
  /** Takes messages for the stream of the request being served. */
  readonly emit: (message: JSONRPCRequest | JSONRPCNotification) => void;
  /** Of the request being served: when it aborts, so does the question. */
  readonly signal: AbortSignal;
  /** Undefined: whoever keeps the question calls {@link PendingQuestions.expire}. */
  readonly timeoutMs: number | undefined;
  /** Of a question that went out in a former life of the object: it is not asked again. */
  readonly askedAs?: RequestId | undefined;
  /** Called with the id before the question goes out. */
  readonly onAsk?: (id: string) => void;
}

/** What is known of questions that a former run of the call asked. */
export interface AskedBefore {
  /** The id a question went out with that has no answer. */
  find(key: string): RequestId | undefined;
  /** What came of one meanwhile. */
  entry(key: string): JournalEntry | undefined;
  /** Keeps that a question goes out. */
  add(id: string, key: string, digest: string, timeoutMs: number): void;
}

interface Pending {
  expire(): void;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** The questions one peer has not answered yet. */
export class PendingQuestions {
  readonly #pending = new Map<RequestId, Pending>();
  #isOver = false;
  #samples = 0;

  /**
   * Asks and waits.
   *
   * @throws {QuestionError} when the client cannot answer, answers with an error, or does not answer in time (then it
   *   is told that the question is off); the reason of `signal` when that aborts first.
   */
  ask(question: Question | Ping, options: AskOptions): Promise<unknown> {
    const { client, emit, signal, timeoutMs, askedAs, onAsk } = options;
    checkQuestion(question, client);
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#isOver) return Promise.reject(interrupted());
    // Unguessable, and not counted: an answer to a question of a former life of this object must not fit another.
    const id = askedAs ?? crypto.randomUUID();
    const giveUp = (reason: string) =>
      emit({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason, _meta: question.params?._meta },
      });
    return new Promise((resolve, reject) => {
      const expire = () => {
        settle();
        giveUp("timed out");
        reject(timedOut(question.method));
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
      const onAbort = () => {
        settle();
        giveUp("the request it belonged to is over");
        reject(signal.reason);
      };
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
      if (askedAs !== undefined) return;
      onAsk?.(id as string);
      emit({ jsonrpc: "2.0", id, method: question.method, params: shapeQuestion(question, client) });
    });
  }

  /** Counts one sampling request. @throws {QuestionError} `limit`. */
  countSample({ samplesPerSessionMax }: Limits): void {
    if (this.#samples >= samplesPerSessionMax) throw overLimit("session", "samplesPerSessionMax", samplesPerSessionMax);
    this.#samples += 1;
  }

  /** Gives up every question, those still to come as well: no answer can arrive any more. */
  interrupt(): void {
    this.#isOver = true;
    for (const pending of [...this.#pending.values()]) pending.reject(interrupted());
  }

  /** Gives up a question that has had its time. False when nobody waits for it here. */
  expire(id: RequestId): boolean {
    const pending = this.#pending.get(id);
    pending?.expire();
    return pending !== undefined;
  }

  /** Takes an answer. One to nothing that is asked here (late, foreign, made up) is not, and false. */
  settle(response: JSONRPCResultResponse | JSONRPCErrorResponse): boolean {
    const pending = response.id === undefined ? undefined : this.#pending.get(response.id);
    if (pending) {
      if ("error" in response) pending.reject(refusalOf(response));
      else pending.resolve(response.result);
    }
    return pending !== undefined;
  }
}

/** @throws {QuestionError} `unsupported`; {KitError} naming the parameter that has no JSON form, such as a bigint. */
function checkQuestion(question: Question | Ping, client: ClientFacts): void {
  requireAnswerable(question, client);
  requireJson(question);
}

/** What the handler meets when the client answered with an error. */
export function refusalOf({ error }: JSONRPCErrorResponse): QuestionError {
  return refusedQuestion("the question", new McpError(error.code, error.message));
}

/** What the handler meets when the client does not answer. */
export function timedOut(method: string): QuestionError {
  return new QuestionError("timeout", `The client did not answer ${method} in time.`);
}

function interrupted(): QuestionError {
  return new QuestionError("interrupted", "The client is gone, so the question cannot be answered.");
}

function overLimit(what: string, limit: keyof Limits, max: number): QuestionError {
  return new QuestionError(
    "limit",
    `This ${what} has asked the client's model ${max} times, the most that limits.${limit} allows.`,
  );
}

/** An asker over the stream of a legacy request. */
export function createAsker(
  questions: PendingQuestions,
  options: Pick<AskOptions, "client" | "emit"> & { readonly limits: Limits; readonly before?: AskedBefore | undefined },
  by?: AskedBy,
  /** Sampling requests of the call so far, shared by its contexts. */
  count: { samples: number } = { samples: 0 },
): Asker {
  const { client, emit, limits, before } = options;
  const over = new AbortController();
  const send = async (
    question: Question | Ping,
    signal: AbortSignal,
    { key, digest }: AskedOptions = {},
  ): Promise<unknown> => {
    if (over.signal.aborted) throw closed(question.method);
    const common = { client, emit, signal: AbortSignal.any([signal, over.signal]) };
    const timeoutMs = question.method === "elicitation/create" ? limits.elicitTimeoutMs : limits.askTimeoutMs;
    if (!before || key === undefined || digest === undefined) return questions.ask(question, { ...common, timeoutMs });
    const entry = before.entry(key);
    if (entry) return answerOf(entry);
    const onAsk = (id: string) => before.add(id, key, digest, timeoutMs);
    return questions.ask(question, { ...common, timeoutMs: undefined, askedAs: before.find(key), onAsk });
  };
  /** What `work` gives. A question nobody waits for must not end the process when it is called off. */
  const heard = <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    const answer = work();
    answer.catch(() => undefined);
    return answer;
  };
  const sample = async <R>(
    params: JsonObject,
    signal: AbortSignal,
    read: (answer: unknown) => R,
    options?: AskedOptions,
  ): Promise<R> => {
    const question: Question = { method: "sampling/createMessage", params };
    checkQuestion(question, client);
    const { samplesPerCallMax } = limits;
    if (count.samples >= samplesPerCallMax) throw overLimit("call", "samplesPerCallMax", samplesPerCallMax);
    questions.countSample(limits);
    count.samples += 1;
    const sent = () => send(question, signal, options);
    return by ? audited(params, by, sent, read) : read(await sent());
  };
  const ask: Asker["ask"] = async (question, signal, options = {}): Promise<unknown> => {
    if (question.method === "sampling/createMessage") {
      const look = (answer: unknown) => {
        options.read?.(answer);
        return answer;
      };
      return sample(question.params ?? {}, signal, look, options);
    }
    if (by) warnOfSecrets(question, by);
    return send(question, signal, options);
  };
  return {
    check: (question) => checkQuestion(question, client),
    ask,
    for: (request) => createAsker(questions, options, request, count),
    forContext: () => createAsker(questions, options, by, count),
    close: () => over.abort(closed("The question")),
    elicit: (message, schema, signal) =>
      heard(async () => readElicitResult(await ask(elicitQuestion(message, schema), signal), schema)),
    elicitUrl: (elicitation, signal) =>
      heard(async () => {
        const params = urlParams(elicitation);
        const answer = await ask({ method: "elicitation/create", params }, signal);
        return { action: readAnswer(answer).action, elicitationId: params.elicitationId };
      }),
    sample: (params, signal) =>
      heard(async () => {
        checkSampleParams(params);
        return sample(params, signal, readSampleResult);
      }),
    ping: (signal) => heard(async () => void (await send({ method: "ping" }, signal))),
    listRoots: (signal) => heard(async () => readRoots(await ask({ method: "roots/list" }, signal))),
  };
}

function closed(what: string): KitError {
  return new KitError("context-closed", `${what} is off: the handler that asked has returned.`);
}
