/**
 * The rounds of handlers that ask: a handler runs again until it no longer asks. In the modern era one round is one
 * request, whose result contains the questions. In the legacy era the client is asked during the request.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */

import { QuestionError } from "../ask/question-errors.ts";
import type { Question } from "../ask/questions.ts";
import { createInputRequired, type InputRequired, isInputRequired } from "../define/input-required.ts";
import { KitError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { missingCapabilities, toInputRequiredResult } from "./input-required-result.ts";
import type { RequestContext, RunRounds } from "./request-context.ts";
import { encodeState, readPresented } from "./request-state.ts";
import { FIRST_ROUND, type Round, type RoundsOutcome, SUSPENDED, type SuspendableRun } from "./round.ts";
import { isAnswering } from "./run-rounds.ts";
import { reportAnsweredSamples } from "./sampling-rounds.ts";

/**
 * The maximum number of rounds of one legacy request, or of a task without a question. Stops a handler that asks
 * forever.
 * @limit count Rounds of one legacy call, or of a task without a question. A further one fails.
 */
export const ROUNDS_MAX = 32;

/**
 * Begins a run that may ask in the middle.
 *
 * @param journal The journal of an earlier run of the same call.
 * @param check Throws if a journal is too large for the request state.
 */
export type BeginReplay = (
  call: RequestContext,
  journal: unknown,
  inputResponses: JsonObject,
  check?: (journal: unknown) => void,
) => JournaledRun;

/** A run that may ask in the middle, and its journal. */
export interface JournaledRun extends SuspendableRun {
  /** Returns the questions that the run waits for. @throws {KitError} `replay-diverged` if the handler has diverged. */
  questions(): Readonly<Record<string, Question>>;
  /** The journal for the next run, as JSON. */
  readonly journal: unknown;
  /** Whether the next run needs the journal even if no question is open. */
  readonly hasEntries: boolean;
  /** Resolves when no step is running, because only then the journal is complete. */
  settled(): Promise<void>;
}

/** Returns the rounds for clients of both eras. */
export function createRounds(begin?: BeginReplay): RunRounds {
  return async (call, run) => {
    if (call.client.era === "modern") return runOneRound(call, run, begin);
    let round: Round = FIRST_ROUND;
    let journal = call.journal;
    for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
      const attempt = begin?.(call, journal, {});
      const returned = await run({ ...round, replay: attempt });
      if (!isInputRequired(returned)) return { returned };
      round = { inputResponses: await askAll(returned, call), requestState: returned.requestState };
      await attempt?.settled();
      journal = attempt?.journal;
    }
    throw new KitError("options-invalid", `A handler asked for input ${ROUNDS_MAX} times in one request.`);
  };
}

const runOneRound = async (
  call: RequestContext,
  run: (round: Round) => Promise<unknown>,
  begin: BeginReplay | undefined,
): Promise<RoundsOutcome> => {
  const presented = await readPresented(call);
  reportAnsweredSamples(presented.samples ?? {}, presented.inputResponses, call);
  // The answers to explicit questions are kept until the handler asks in that form again.
  const { state, responses = presented.inputResponses } = presented;
  const check = (journal: unknown) => void encodeState({ journal, state, responses }, call);
  const attempt = begin?.(call, presented.journal, presented.inputResponses, check);
  const collectKept = async () => {
    await attempt?.settled();
    return attempt?.hasEntries ? { journal: attempt.journal } : {};
  };
  try {
    const returned = await run({ inputResponses: responses, requestState: state, replay: attempt });
    if (attempt && returned === SUSPENDED) {
      const asked = createInputRequired(attempt.questions(), state);
      return {
        asked: await toInputRequiredResult(asked, call, { journal: attempt.journal, responses }),
      };
    }
    if (!isInputRequired(returned)) return { returned };
    return { asked: await toInputRequiredResult(returned, call, await collectKept()) };
  } catch (error) {
    if (error instanceof QuestionError && error.missing.length > 0) throw missingCapabilities(error.missing);
    // The error asks too, and the next run needs the journal of this one.
    if (isAnswering(error)) return { asked: await error.answer(call, await collectKept()) };
    throw error;
  }
};

/** Asks all questions. If one fails, all fail, because a handler runs again only with every answer. */
async function askAll({ inputRequests }: InputRequired, call: RequestContext): Promise<JsonObject> {
  const questions = Object.entries(inputRequests);
  for (const [, question] of questions) call.asker.check?.(question);
  const failed = new AbortController();
  const signal = AbortSignal.any([call.ending.signal, failed.signal]);
  try {
    const answers = questions.map(async ([key, question]) => [key, await call.asker.ask(question, signal)] as const);
    return Object.fromEntries(await Promise.all(answers));
  } catch (error) {
    // This cancels the other questions.
    failed.abort();
    throw error;
  }
}
