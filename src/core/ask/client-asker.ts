/**
 * The asker of a legacy client. It sends questions on the stream of the request that is being served.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */

import type { JsonObject, RequestId } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Root } from "../protocol/root.ts";
import type { AnySchema } from "../protocol/schema.ts";
import { type QuestionOutcome, readAnswer, readElicitResult, readRoots, toAnswer } from "./answers.ts";
import type { AskedBy } from "./asked-by.ts";
import type { AskedOptions, Asker } from "./asker.ts";
import type { ElicitationSchema } from "./elicitation-schema.ts";
import type { AskOptions, PendingQuestions } from "./pending-questions.ts";
import { contextClosed, overLimit } from "./question-errors.ts";
import { checkQuestion, elicitQuestion, type Ping, type Question } from "./questions.ts";
import { audited } from "./sampling-audit.ts";
import { checkSampling, readSampleResult, type SampleParams, type SampleResult } from "./sampling-params.ts";
import { warnOfSecrets } from "./secret-fields.ts";
import { type ElicitUrlResult, type UrlElicitation, urlParams } from "./url-elicitation.ts";

/** The questions that earlier runs of the call asked. */
export interface AskedBefore {
  /** Returns the id of a question that was sent and has no answer yet. */
  find(key: string): RequestId | undefined;
  /** Returns the outcome of a question, if there is one already. */
  outcome(key: string): QuestionOutcome | undefined;
  /** Records a question before it is sent. */
  add(id: string, key: string, digest: string, timeoutMs: number): void;
}

/** The client to ask, and the state of the call. */
export type AskerOptions = Pick<AskOptions, "client" | "emit"> & {
  readonly limits: Limits;
  readonly before?: AskedBefore | undefined;
};

/** Asks a legacy client on the stream of its request. */
export class ClientAsker implements Asker {
  readonly #questions: PendingQuestions;
  readonly #options: AskerOptions;
  readonly #by: AskedBy | undefined;
  readonly #count: { samples: number };
  #isOver = false;
  /** Cancels open questions when the handler has returned. Created with the first question. */
  #over: AbortController | undefined;

  /** @param count The sampling requests of the call so far, shared by its contexts. */
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
    this.#over?.abort(contextClosed("The question"));
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
    return ignoreRejection(answered());
  }

  elicitUrl(elicitation: UrlElicitation, signal: AbortSignal): Promise<ElicitUrlResult> {
    const visited = async () => {
      const params = urlParams(elicitation);
      const answer = await this.ask({ method: "elicitation/create", params }, signal);
      return { action: readAnswer(answer).action, elicitationId: params.elicitationId };
    };
    return ignoreRejection(visited());
  }

  sample(params: SampleParams, signal: AbortSignal): Promise<SampleResult> {
    return ignoreRejection(this.#sample(params, signal, readSampleResult));
  }

  ping(signal: AbortSignal): Promise<void> {
    const answered = async () => void (await this.#send({ method: "ping" }, signal));
    return ignoreRejection(answered());
  }

  listRoots(signal: AbortSignal): Promise<readonly Root[]> {
    const listed = async () => readRoots(await this.ask({ method: "roots/list" }, signal));
    return ignoreRejection(listed());
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
    if (this.#isOver) throw contextClosed(question.method);
    this.#over ??= new AbortController();
    const { client, emit, limits, before } = this.#options;
    const common = { client, emit, signal: AbortSignal.any([given, this.#over.signal]) };
    const timeoutMs = question.method === "elicitation/create" ? limits.elicitTimeoutMs : limits.askTimeoutMs;
    const questions = this.#questions;
    if (!before || key === undefined || digest === undefined) return questions.ask(question, { ...common, timeoutMs });
    const outcome = before.outcome(key);
    if (outcome) return toAnswer(outcome);
    const onAsk = (id: string) => before.add(id, key, digest, timeoutMs);
    return questions.ask(question, { ...common, timeoutMs: undefined, askedAs: before.find(key), onAsk });
  }
}

/** Marks a rejection as handled, so that a question the handler does not await cannot end the process. */
function ignoreRejection<Answer>(answer: Promise<Answer>): Promise<Answer> {
  answer.catch(() => undefined);
  return answer;
}
