/**
 * The asker of a run that has a journal. It gives each question its key, and asks again after an invalid answer. The run
 * decides where the answer comes from.
 *
 * @module
 */

import { type Elicited, readAnswer, readRoots, tryElicitResult } from "../ask/answers.ts";
import type { Asker } from "../ask/asker.ts";
import type { ElicitationSchema } from "../ask/elicitation-schema.ts";
import { invalidAnswer } from "../ask/question-errors.ts";
import type { QuestionOptions } from "../ask/question-options.ts";
import { elicitQuestion, type Question } from "../ask/questions.ts";
import { checkSampling, readSampleResult } from "../ask/sampling-params.ts";
import { type UrlElicitation, urlParams } from "../ask/url-elicitation.ts";
import type { AnySchema } from "../protocol/schema.ts";
import { idFrom } from "./journal.ts";
import type { RequestContext } from "./request-context.ts";
import type { RunKeys } from "./run-keys.ts";

/** The run whose handler asks. */
export interface AskingRun {
  readonly call: RequestContext;
  /** The id of the call, which is the same in all of its runs. */
  readonly callId: string;
  readonly keys: RunKeys;
  /** Sends what is not recorded in the journal, such as pings. */
  readonly live: Asker;
  /** Runs work of the handler, unless the run is over: then the promise never settles. */
  within<T>(work: () => Promise<T>): Promise<T>;
  /** @param read Throws if an answer is invalid, for the audit. */
  ask(key: string, question: Question, signal: AbortSignal, read?: (answer: unknown) => unknown): Promise<unknown>;
  /** Called after the handler has returned. */
  close(): void;
}

/**
 * How often a question is asked again after an invalid answer.
 * @limit count How often a question is asked again after an invalid answer. Then it fails.
 */
const REASKS_MAX = 3;

/** Creates the asker of a run. */
export function createAttemptAsker(run: AskingRun): Asker {
  const { call, live } = run;
  return {
    elicit: (...asked) => run.within(() => elicit(run, ...asked)),
    elicitUrl: (...asked) => run.within(() => elicitUrl(run, ...asked)),
    sample: (params, signal, options) =>
      run.within(async () => {
        const question: Question = { method: "sampling/createMessage", params };
        checkSampling(question, call.limits);
        return askAndRead(run, question, readSampleResult, signal, options);
      }),
    listRoots: (signal, options) =>
      run.within(() => askAndRead(run, { method: "roots/list" }, readRoots, signal, options)),
    ping: (signal) => run.within(() => live.ping(signal)),
    ask: (question, signal) => run.within(() => live.ask(question, signal)),
    close: () => {
      run.close();
      live.close?.();
    },
  };
}

/** Asks until the answer fits the schema, at most {@link REASKS_MAX} more times. */
function elicit<S extends AnySchema | ElicitationSchema>(
  { keys, ask }: AskingRun,
  message: string,
  schema: S,
  signal: AbortSignal,
  options?: QuestionOptions,
): Promise<Elicited<S>> {
  const first = elicitQuestion(message, schema);
  return keys.withQuestion(first, options, async (key) => {
    for (let [again, question] = [0, first]; ; again += 1) {
      const answer = await ask(again === 0 ? key : `${key}~${again}`, question, signal);
      const read = await tryElicitResult(answer, schema);
      if (typeof read !== "string") return read;
      if (again === REASKS_MAX) throw invalidAnswer("elicitation/create", read);
      question = elicitQuestion(`${message}\n\n(${read})`, schema);
    }
  });
}

function askAndRead<T>(
  { keys, ask }: AskingRun,
  question: Question,
  read: (answer: unknown) => T,
  signal: AbortSignal,
  options: QuestionOptions | undefined,
): Promise<T> {
  return keys.withQuestion(question, options, async (key) => read(await ask(key, question, signal, read)));
}

function elicitUrl(
  { keys, ask, callId }: AskingRun,
  elicitation: UrlElicitation,
  signal: AbortSignal,
  options?: QuestionOptions,
) {
  const params = urlParams({ ...elicitation, elicitationId: elicitation.elicitationId ?? "made" });
  return keys.withQuestion({ method: "elicitation/create", params }, options, async (key) => {
    // The id is the same in every run, because the author may have stored it.
    const elicitationId = elicitation.elicitationId ?? idFrom(callId, key);
    const asked: Question = { method: "elicitation/create", params: { ...params, elicitationId } };
    return { action: readAnswer(await ask(key, asked, signal)).action, elicitationId };
  });
}
