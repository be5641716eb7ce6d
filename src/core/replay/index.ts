/**
 * mcp-edge/replay: handlers that ask in the middle, as straight-line code, for clients of every version.
 *
 * @module
 */
import type { Call } from "../context.ts";
import { KitError } from "../errors.ts";
import { type BeginReplay, createRounds } from "../input-required.ts";
import { installRounds } from "../rounds.ts";
import { Attempt } from "./attempt.ts";
import { type JournalData, type JournalEntry, newJournal, withAnswers } from "./journal.ts";

/** That handlers can be run again. Made by {@link replay}. */
export interface Replay {
  readonly replays: true;
}

/** Runs of one modern call: stops a handler that never has enough. */
const ROUNDS_MAX = 64;

const begin: BeginReplay = (call, kept, inputResponses) => {
  const journal = (kept as JournalData | undefined) ?? newJournal();
  if (journal.rounds >= ROUNDS_MAX) {
    throw new KitError("options-invalid", `A handler asked for input ${ROUNDS_MAX} times in one call.`);
  }
  if (call.client.era === "legacy")
    return new Attempt({ call, journal, live: liveAsker(call), record: recorder(call) });
  return new Attempt({ call, journal: withAnswers(journal, inputResponses), record: () => undefined });
};

/**
 * Lets handlers ask in the middle also where a protocol version has no requests from the server (2026-07-28):
 * `await ctx.elicit(...)` and the like end the run, and when the answers come the handler runs again from the top, with
 * everything it had before returned at once. So a handler does the same with the same answers, and what must not be
 * repeated goes into `ctx.step()`; `finally` does not run where a run ends. Elsewhere the run goes on where it is.
 *
 * @example
 * ```ts
 * const app = edge(server, { replay: replay() });
 * ```
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
export function replay(): Replay {
  installRounds(createRounds(begin), true);
  return { replays: true };
}

function liveAsker({ asker }: Call<never>) {
  return asker.forContext?.() ?? asker;
}

function recorder({ record }: Call<never>): (entry: JournalEntry) => void | Promise<void> {
  return (entry) => record?.(entry);
}
