/**
 * From a request to a task: what was asked and answered before goes along.
 *
 * @module
 */

import type { Registry } from "../define/registry.ts";
import type { ClientCapabilities, Implementation } from "../protocol/client-facts.ts";
import type { JSONRPCRequest, JsonObject } from "../protocol/jsonrpc.ts";
import { Attempt } from "../run/attempt.ts";
import type { Call } from "../run/call.ts";
import { type JournalData, newJournal, withAnswers } from "../run/journal.ts";
import { createRounds } from "../run/rounds.ts";
import type { Round, RunRounds } from "../run/run-handler.ts";
import { CUT, CuttableRun } from "./cuttable-run.ts";

/** What a task begins with. JSON. */
export interface TaskStart {
  /** As it came, without what was answered before. */
  readonly request: JSONRPCRequest;
  /** What runs on the request have had. */
  readonly journal: JournalData;
  /** What the last of them was answered and had kept, where its handler asks by returning. */
  readonly round: TaskRound;
  /** Who called, where the request does not say so itself. */
  readonly client?: TaskClient;
  /** Milliseconds its client wants it kept; it is kept no longer than others are. */
  readonly ttlMs?: number;
}

/** A legacy client, as plain data. */
export interface TaskClient {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
}

export interface TaskRound {
  readonly inputResponses: JsonObject;
  readonly requestState?: string | undefined;
}

/** Makes a task. Resolves with what the client is told, once the task will not be lost. */
export type CreateTask = (start: TaskStart, server: Registry, call: Call) => Promise<JsonObject>;

/** Runs that end in a task, at their beginning or where the handler says so. */
export function roundsIntoTask(create: CreateTask, from: "call" | "handler"): RunRounds {
  return async (server, request, call, run) => {
    let task: JsonObject | undefined;
    let attempt: Attempt | undefined;
    const rounds = createRounds((_, kept, responses) => {
      const journal = withAnswers((kept as JournalData | undefined) ?? newJournal(), responses);
      attempt = new Attempt({ call, journal, record: () => undefined });
      return attempt;
    });
    const outcome = await rounds(server, request, call, async (round) => {
      const returned = from === "call" ? CUT : await runUntilTask(run, round, attempt as Attempt);
      if (returned !== CUT) return returned;
      const { inputResponses, requestState } = round;
      const { journal } = attempt as Attempt;
      const start = { request: withoutAnswers(request), journal, round: { inputResponses, requestState } };
      task = await create(start, server, call);
      return undefined;
    });
    return task ? { asked: task } : outcome;
  };
}

function runUntilTask(run: (round: Round) => Promise<unknown>, round: Round, attempt: Attempt): Promise<unknown> {
  return run({ ...round, replay: new CuttableRun(attempt, { isDue: () => false, cutAtTask: true }) });
}

function withoutAnswers(request: JSONRPCRequest): JSONRPCRequest {
  const { inputResponses: _, requestState: __, ...params } = request.params ?? {};
  return { ...request, params };
}
