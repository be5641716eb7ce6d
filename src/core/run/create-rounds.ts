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
 * @limit count Rounds of one legacy call, or of a task without a question. Then the call fails.
 */
export const ROUNDS_MAX = 32;

/**
 * Begins a run that may ask in the middle.
 *
 * @param journal The journal of an earlier run of the same call.
 * @param check Throws if a journal is too large for the request state.
 */
export type BeginReplay = (
  context: RequestContext,
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
  return async (context, run) => {
    if (context.client.era === "modern") return runOneRound(context, run, begin);
    let round: Round = FIRST_ROUND;
    let journal = context.journal;
    for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
      const attempt = begin?.(context, journal, {});
      const returned = await run({ ...round, replay: attempt });
      if (!isInputRequired(returned)) return { returned };
      round = { inputResponses: await askAll(returned, context), requestState: returned.requestState };
      await attempt?.settled();
      journal = attempt?.journal;
    }
    throw new KitError("options-invalid", `A handler asked for input ${ROUNDS_MAX} times in one call.`);
  };
}

const runOneRound = async (
  context: RequestContext,
  run: (round: Round) => Promise<unknown>,
  begin: BeginReplay | undefined,
): Promise<RoundsOutcome> => {
  const presented = await readPresented(context);
  reportAnsweredSamples(presented.samples ?? {}, presented.inputResponses, context);
  // The answers to returned questions are kept until the handler returns questions again.
  const { state, responses = presented.inputResponses } = presented;
  const check = (journal: unknown) => void encodeState({ journal, state, responses }, context);
  const attempt = begin?.(context, presented.journal, presented.inputResponses, check);
  const collectKept = async () => {
    await attempt?.settled();
    return attempt?.hasEntries ? { journal: attempt.journal } : {};
  };
  try {
    const returned = await run({ inputResponses: responses, requestState: state, replay: attempt });
    if (attempt && returned === SUSPENDED) {
      const asked = createInputRequired(attempt.questions(), state);
      return {
        asked: await toInputRequiredResult(asked, context, { journal: attempt.journal, responses }),
      };
    }
    if (!isInputRequired(returned)) return { returned };
    return { asked: await toInputRequiredResult(returned, context, await collectKept()) };
  } catch (error) {
    if (error instanceof QuestionError && error.missing.length > 0) throw missingCapabilities(error.missing);
    // The error asks questions as well, and the next run needs the journal of this run.
    if (isAnswering(error)) return { asked: await error.answer(context, await collectKept()) };
    throw error;
  }
};

/** Asks all questions. If one of them fails, all of them fail, because a handler runs again only with every answer. */
async function askAll({ inputRequests }: InputRequired, context: RequestContext): Promise<JsonObject> {
  const questions = Object.entries(inputRequests);
  for (const [, question] of questions) context.asker.check?.(question);
  const failed = new AbortController();
  const signal = AbortSignal.any([context.ending.signal, failed.signal]);
  try {
    const answers = questions.map(async ([key, question]) => [key, await context.asker.ask(question, signal)] as const);
    return Object.fromEntries(await Promise.all(answers));
  } catch (error) {
    // This cancels the other questions.
    failed.abort();
    throw error;
  }
}
