/**
 * Requests a server sends to a legacy client while it serves one of the client's own, and the answers that come back
 * by another message.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */

import type { ClientFacts } from "../protocol/client-facts.ts";
import { KitError, McpError } from "../protocol/errors.ts";
import type {
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  JsonObject,
  RequestId,
} from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import type { AnySchema } from "../protocol/schema.ts";
import { answerOf, type JournalEntry } from "../run/journal.ts";
import { type AskedBy, type AskedOptions, type Asker, QuestionError } from "./asker.ts";
import type { ElicitationSchema } from "./elicitation-schema.ts";
import type { Question } from "./question.ts";
import {
  checkSampling,
  elicitQuestion,
  type Ping,
  type Root,
  readAnswer,
  readElicitResult,
  readRoots,
  readSampleResult,
  refusedQuestion,
  requireAnswerable,
  requireJson,
  type SampleParams,
  type SampleResult,
  shapeQuestion,
} from "./questions.ts";
import { audited } from "./sampling-audit.ts";
import { warnOfSecrets } from "./secret-fields.ts";
import { type ElicitUrlResult, type UrlElicitation, urlParams } from "./url-elicitation.ts";

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

  /** Whether sampling requests have been counted. */
  get isCounting(): boolean {
    return this.#samples > 0;
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
  return new QuestionError("interrupted", "The client is gone.");
}

function overLimit(what: string, limit: keyof Limits, max: number): QuestionError {
  return new QuestionError(
    "limit",
    `This ${what} has asked the client's model ${max} times, the most that limits.${limit} allows.`,
  );
}

/** What an asker asks with. */
export type AskerOptions = Pick<AskOptions, "client" | "emit"> & {
  readonly limits: Limits;
  readonly before?: AskedBefore | undefined;
};

/** An asker over the stream of a legacy request. */
export class ClientAsker implements Asker {
  readonly #questions: PendingQuestions;
  readonly #options: AskerOptions;
  readonly #by: AskedBy | undefined;
  readonly #count: { samples: number };
  #isOver = false;
  /** Calls off what is open when it is over; made for the first question. */
  #over: AbortController | undefined;

  /** @param count Sampling requests of the call so far, shared by its contexts. */
  constructor(questions: PendingQuestions, options: AskerOptions, by?: AskedBy, count = { samples: 0 }) {
    this.#questions = questions;
    this.#options = options;
    this.#by = by;
    this.#count = count;
  }

  check(question: Question): void {
    checkSampling(question, this.#options.limits);
    checkQuestion(question, this.#options.client);
  }

  for(by: AskedBy): Asker {
    return new ClientAsker(this.#questions, this.#options, by, this.#count);
  }

  forContext(): Asker {
    return new ClientAsker(this.#questions, this.#options, this.#by, this.#count);
  }

  close(): void {
    this.#isOver = true;
    this.#over?.abort(closed("The question"));
  }

  async ask(question: Question, signal: AbortSignal, options: AskedOptions = {}): Promise<unknown> {
    if (question.method === "sampling/createMessage") {
      const look = (answer: unknown) => {
        options.read?.(answer);
        return answer;
      };
      return this.#sample(question.params ?? {}, signal, look, options);
    }
    if (this.#by) warnOfSecrets(question, this.#by);
    return this.#send(question, signal, options);
  }

  elicit<S extends AnySchema | ElicitationSchema>(message: string, schema: S, signal: AbortSignal) {
    const answered = async () => readElicitResult(await this.ask(elicitQuestion(message, schema), signal), schema);
    return heard(answered());
  }

  elicitUrl(elicitation: UrlElicitation, signal: AbortSignal): Promise<ElicitUrlResult> {
    const visited = async () => {
      const params = urlParams(elicitation);
      const answer = await this.ask({ method: "elicitation/create", params }, signal);
      return { action: readAnswer(answer).action, elicitationId: params.elicitationId };
    };
    return heard(visited());
  }

  sample(params: SampleParams, signal: AbortSignal): Promise<SampleResult> {
    return heard(this.#sample(params, signal, readSampleResult));
  }

  ping(signal: AbortSignal): Promise<void> {
    const answered = async () => void (await this.#send({ method: "ping" }, signal));
    return heard(answered());
  }

  listRoots(signal: AbortSignal): Promise<readonly Root[]> {
    const listed = async () => readRoots(await this.ask({ method: "roots/list" }, signal));
    return heard(listed());
  }

  async #sample<R>(
    params: JsonObject,
    signal: AbortSignal,
    read: (answer: unknown) => R,
    options?: AskedOptions,
  ): Promise<R> {
    const question: Question = { method: "sampling/createMessage", params };
    const { client, limits } = this.#options;
    checkSampling(question, limits);
    checkQuestion(question, client);
    const { samplesPerCallMax } = limits;
    if (this.#count.samples >= samplesPerCallMax) throw overLimit("call", "samplesPerCallMax", samplesPerCallMax);
    this.#questions.countSample(limits);
    this.#count.samples += 1;
    const sent = () => this.#send(question, signal, options);
    return this.#by ? audited(params, this.#by, sent, read) : read(await sent());
  }

  async #send(question: Question | Ping, given: AbortSignal, { key, digest }: AskedOptions = {}): Promise<unknown> {
    if (this.#isOver) throw closed(question.method);
    this.#over ??= new AbortController();
    const { client, emit, limits, before } = this.#options;
    const common = { client, emit, signal: AbortSignal.any([given, this.#over.signal]) };
    const timeoutMs = question.method === "elicitation/create" ? limits.elicitTimeoutMs : limits.askTimeoutMs;
    const questions = this.#questions;
    if (!before || key === undefined || digest === undefined) return questions.ask(question, { ...common, timeoutMs });
    const entry = before.entry(key);
    if (entry) return answerOf(entry);
    const onAsk = (id: string) => before.add(id, key, digest, timeoutMs);
    return questions.ask(question, { ...common, timeoutMs: undefined, askedAs: before.find(key), onAsk });
  }
}

/** A question nobody waits for must not end the process when it is called off. */
function heard<Answer>(answer: Promise<Answer>): Promise<Answer> {
  answer.catch(() => undefined);
  return answer;
}

function closed(what: string): KitError {
  return new KitError("context-closed", `${what} is off: the handler that asked has returned.`);
}
