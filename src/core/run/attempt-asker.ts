/**
 * The asker of a run that has a journal. It gives each question its key, and asks again after an invalid answer. The
 * run gets the answer from the journal or from the client.
 *
 * @module
 */

import { type Elicited, readAnswer, readRoots, tryElicitResult } from "../ask/answers.ts";
import type { Asker } from "../ask/asker.ts";
import type { ElicitationSchema } from "../ask/elicitation-schema.ts";
import { invalidAnswer } from "../ask/question-errors.ts";
import type { QuestionOptions } from "../ask/question-options.ts";
import { elicitQuestion, type Question, rootsQuestion } from "../ask/questions.ts";
import { checkSampling, readSampleResult, type SampleParams } from "../ask/sampling-params.ts";
import { type UrlElicitation, urlParams } from "../ask/url-elicitation.ts";
import type { AnySchema } from "../protocol/schema.ts";
import { idFrom } from "./journal.ts";
import type { RequestContext } from "./request-context.ts";
import type { RunKeys } from "./run-keys.ts";

/** The run whose handler asks. */
export interface AskingRun {
  readonly context: RequestContext;
  /** The id of the call, which is the same in all of its runs. */
  readonly callId: string;
  readonly keys: RunKeys;
  /** Sends requests that are not recorded in the journal, such as pings. */
  readonly live: Asker;
  /** Runs work of the handler. If the run is over, the promise never settles. */
  within<T>(work: () => Promise<T>): Promise<T>;
  /** @param read Throws if an answer is invalid, for the audit. */
  ask(key: string, question: Question, signal: AbortSignal, read?: (answer: unknown) => unknown): Promise<unknown>;
  /** Called after the handler has returned. */
  close(): void;
}

/**
 * The maximum number of times that a question is asked again after an invalid answer.
 * @limit count Repetitions of a question after invalid answers. Then the question fails.
 */
const REASKS_MAX = 3;

/** The asker of a run. */
export class AttemptAsker implements Asker {
  readonly #run: AskingRun;

  constructor(run: AskingRun) {
    this.#run = run;
  }

  /** Asks until the answer fits the schema, at most {@link REASKS_MAX} more times. */
  elicit<S extends AnySchema | ElicitationSchema>(
    message: string,
    schema: S,
    signal: AbortSignal,
    options?: QuestionOptions,
  ): Promise<Elicited<S>> {
    const { ask } = this.#run;
    return this.#withQuestion(
      () => elicitQuestion(message, schema),
      options,
      async (key, first) => {
        for (let [again, question] = [0, first]; ; again += 1) {
          const answer = await ask(again === 0 ? key : `${key}~${again}`, question, signal);
          const read = await tryElicitResult(answer, schema);
          if (typeof read !== "string") return read;
          if (again === REASKS_MAX) throw invalidAnswer("elicitation/create", read);
          question = elicitQuestion(`${message}\n\n(${read})`, schema);
        }
      },
    );
  }

  elicitUrl(elicitation: UrlElicitation, signal: AbortSignal, options?: QuestionOptions) {
    const { ask, callId } = this.#run;
    const create = (elicitationId = "made"): Question => {
      return { method: "elicitation/create", params: urlParams({ ...elicitation, elicitationId }) };
    };
    return this.#withQuestion(
      () => create(elicitation.elicitationId),
      options,
      async (key) => {
        // The id is the same in every run, because the author may have stored it.
        const elicitationId = elicitation.elicitationId ?? idFrom(callId, key);
        return { action: readAnswer(await ask(key, create(elicitationId), signal)).action, elicitationId };
      },
    );
  }

  sample(params: SampleParams, signal: AbortSignal, options?: QuestionOptions) {
    const create = () => {
      const question: Question = { method: "sampling/createMessage", params };
      checkSampling(question, this.#run.context.limits);
      return question;
    };
    return this.#askAndRead(create, readSampleResult, signal, options);
  }

  listRoots(signal: AbortSignal, options?: QuestionOptions) {
    return this.#askAndRead(rootsQuestion, readRoots, signal, options);
  }

  ping(signal: AbortSignal) {
    return this.#run.within(() => this.#run.live.ping(signal));
  }

  ask(question: Question, signal: AbortSignal) {
    return this.#run.within(() => this.#run.live.ask(question, signal));
  }

  close(): void {
    this.#run.close();
    this.#run.live.close?.();
  }

  #askAndRead<T>(
    create: () => Question,
    read: (answer: unknown) => T,
    signal: AbortSignal,
    options: QuestionOptions | undefined,
  ): Promise<T> {
    const { ask } = this.#run;
    return this.#withQuestion(create, options, async (key, question) => read(await ask(key, question, signal, read)));
  }

  #withQuestion<T>(
    create: () => Question,
    options: QuestionOptions | undefined,
    work: (key: string, question: Question) => Promise<T>,
  ): Promise<T> {
    const { within, keys } = this.#run;
    return within(async () => {
      const question = create();
      return keys.withQuestion(question, options, (key) => work(key, question));
    });
  }
}
