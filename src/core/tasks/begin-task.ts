/**
 * Turns a request into a task, which keeps the questions and answers so far.
 *
 * @module
 */

import type { ClientCapabilities } from "../protocol/client-capabilities.ts";
import type { Implementation } from "../protocol/client-facts.ts";
import type { JSONRPCRequest, JsonObject } from "../protocol/jsonrpc.ts";
import { Attempt } from "../run/attempt.ts";
import { createRounds } from "../run/create-rounds.ts";
import { type JournalData, newJournal, withAnswers } from "../run/journal.ts";
import type { RequestContext, RunRounds } from "../run/request-context.ts";
import type { Round } from "../run/round.ts";
import { PAUSED, PausableRun } from "./pausable-run.ts";

/** The start of a task, as JSON. */
export interface TaskStart {
  /** The request without its answers. */
  readonly request: JSONRPCRequest;
  /** The journal of the runs on the request. */
  readonly journal: JournalData;
  /** The answers and the state of the last round, if the handler asks by returning. */
  readonly round: TaskRound;
  /** The client, if the request does not describe it. */
  readonly client?: TaskClient;
  /** How long the client requests the task to be kept, in milliseconds. The maximum of the server still applies. */
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

/** Creates a task. Resolves with the result for the client once the task is stored durably. */
export type CreateTask = (start: TaskStart, context: RequestContext) => Promise<JsonObject>;

/** Returns rounds that turn the call into a task: at its start, or where the handler calls `ctx.task()`. */
export function roundsIntoTask(create: CreateTask, from: "call" | "handler"): RunRounds {
  return async (context, run) => {
    let task: JsonObject | undefined;
    let attempt: Attempt | undefined;
    const rounds = createRounds((_, kept, responses) => {
      const journal = withAnswers((kept as JournalData | undefined) ?? newJournal(), responses);
      attempt = new Attempt({ context, journal, record: () => undefined });
      return attempt;
    });
    const outcome = await rounds(context, async (round) => {
      const returned = from === "call" ? PAUSED : await runUntilTask(run, round, attempt as Attempt);
      if (returned !== PAUSED) return returned;
      const { inputResponses, requestState } = round;
      const { journal } = attempt as Attempt;
      const start = { request: withoutAnswers(context.request), journal, round: { inputResponses, requestState } };
      task = await create(start, context);
      return undefined;
    });
    return task ? { asked: task } : outcome;
  };
}

function runUntilTask(run: (round: Round) => Promise<unknown>, round: Round, attempt: Attempt): Promise<unknown> {
  return run({ ...round, replay: new PausableRun(attempt, { isDue: () => false, pauseAtTask: true }) });
}

function withoutAnswers(request: JSONRPCRequest): JSONRPCRequest {
  const { inputResponses: _, requestState: __, ...params } = request.params ?? {};
  return { ...request, params };
}
