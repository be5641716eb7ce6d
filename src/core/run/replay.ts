/**
 * Runs handlers that ask questions in the middle of a request, for clients of every version.
 *
 * @module
 */

import { KitError } from "../protocol/errors.ts";
import { Attempt } from "./attempt.ts";
import { type BeginReplay, createRounds } from "./create-rounds.ts";
import { type JournalData, type JournalEntry, newJournal, withAnswers } from "./journal.ts";
import { LazyAttempt } from "./lazy-attempt.ts";
import type { RequestContext, RunRounds } from "./request-context.ts";

/**
 * The maximum number of runs of one modern call. Stops a handler that asks forever.
 * @limit count Rounds of one modern call that asks questions. Then a question fails.
 */
const ROUNDS_MAX = 64;

const begin: BeginReplay = (context, given, inputResponses, check) => {
  const kept = given as JournalData | undefined;
  if (kept && kept.rounds >= ROUNDS_MAX) {
    throw new KitError("options-invalid", `A handler asked for input ${ROUNDS_MAX} times in one call.`);
  }
  const create = () => {
    const journal = kept ?? newJournal();
    return context.client.era === "legacy"
      ? new Attempt({ context, journal, live: liveAsker(context), record: recorder(context) })
      : new Attempt({ context, journal: withAnswers(journal, inputResponses), record: () => undefined, check });
  };
  const isFirst = !kept?.entries.length && !kept?.asked.length && Object.keys(inputResponses).length === 0;
  return isFirst ? new LazyAttempt(create) : create();
};

/** The rounds of handlers that ask questions in the middle of a request. */
export const replayRounds: RunRounds = createRounds(begin);

function liveAsker({ asker }: RequestContext) {
  return asker.forContext?.() ?? asker;
}

function recorder({ record }: RequestContext): (entry: JournalEntry) => void | Promise<void> {
  return (entry) => record?.(entry);
}
