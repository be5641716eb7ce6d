/**
 * One run of a task's handler, until it ends, asks or is paused. The journal holds the progress of earlier runs.
 *
 * @module
 */

import { QuestionError } from "../ask/question-errors.ts";
import type { Question } from "../ask/questions.ts";
import { checkSampling } from "../ask/sampling-params.ts";
import { warnOfSecrets } from "../ask/secret-fields.ts";
import { isInputRequired } from "../define/input-required.ts";
import type { ClientFacts } from "../protocol/client-facts.ts";
import { McpError, toErrorObject } from "../protocol/errors.ts";
import { isObject, type JSONRPCErrorObject, type JSONRPCRequest, type JsonObject } from "../protocol/jsonrpc.ts";
import { readMeta } from "../protocol/lifecycle.ts";
import { Attempt } from "../run/attempt.ts";
import { missingCapabilities, toInputRequest } from "../run/input-required-result.ts";
import { computeDigest, type JournalData, type JournalEntry } from "../run/journal.ts";
import type { RequestContext, RunRounds } from "../run/request-context.ts";
import { SUSPENDED } from "../run/round.ts";
import { isAnswering } from "../run/run-rounds.ts";
import { hookData, listAroundHooks, runAround } from "../serve/hooks.ts";
import { callTool } from "../serve/tool-call.ts";
import type { TaskRound } from "./begin-task.ts";
import { PAUSED, PausableRun, WAITING } from "./pausable-run.ts";
import type { TryStore } from "./stored-tries.ts";

/** The end of a run. */
export type RunEnd =
  | { readonly kind: "completed"; readonly result: JsonObject }
  | { readonly kind: "failed"; readonly error: JSONRPCErrorObject }
  /** `round` is present if the handler asked by returning. The next round receives the answers and this state. */
  | {
      readonly kind: "asked";
      readonly questions: readonly Asked[];
      readonly round?: { readonly requestState?: string };
      /** The time at which another run begins, even without answers. */
      readonly wakeAtMs?: number | undefined;
    }
  | { readonly kind: "paused" }
  /** All remaining work waits for the next try of a step. */
  | { readonly kind: "waiting"; readonly wakeAtMs: number };

/** A question of a task that waits for its answer, as JSON. */
export interface Asked {
  /** The handler's key for the question. */
  readonly key: string;
  /** The digest of the question; absent if it was asked by returning. */
  readonly digest?: string;
  /** The entry of `inputRequests`. */
  readonly request: JsonObject;
}

export interface TaskRun {
  readonly taskId: string;
  readonly journal: JournalData;
  readonly round: TaskRound;
  /** Stores an entry. After it returns, nothing leaves the process before the entry is durable. */
  readonly record: (entry: JournalEntry) => void;
  /** Receives the progress of the work, as text. */
  readonly report: (message: string) => void;
  /** Whether the run should end when the next step is done. */
  readonly isDue: () => boolean;
  /** Stores the tries of steps for later runs. If absent, steps wait within the run. */
  readonly tries?: TryStore;
}

/** Holds the end of a run that did not reach the handler's result. */
interface Unfinished {
  end?: RunEnd | undefined;
}

/** Runs the handler once. An exception of the handler does not reject the promise. */
export async function runTask(given: Omit<RequestContext, "rounds" | "emit" | "once">, task: TaskRun): Promise<RunEnd> {
  const { taskId } = task;
  const unfinished: Unfinished = {};
  const context: RequestContext = {
    ...given,
    taskId,
    rounds: taskRounds(task, unfinished),
    emit: ({ method, params }) => {
      if (method === "notifications/progress") task.report(progressText(params ?? {}));
    },
    // A task already runs its call only once.
    once: (_call, work) => work(),
  };
  try {
    const data = { ...hookData(context), taskId };
    const result = await runAround(listAroundHooks(context.registry, context), data, () =>
      serveTask(context, taskId, unfinished),
    );
    // The result of a tool call is an object, even if a hook replaced it.
    return unfinished.end ?? { kind: "completed", result: { resultType: "complete", ...(result as JsonObject) } };
  } catch (error) {
    if (McpError.is(error)) return { kind: "failed", error: toErrorObject(error) };
    throw error;
  }
}

/** Returns rounds that consist of the task's one run. */
function taskRounds(task: TaskRun, unfinished: Unfinished): RunRounds {
  return async (context, run) => {
    const attempt = new Attempt({ context, journal: task.journal, record: task.record });
    const { inputResponses, requestState } = task.round;
    const replay = new PausableRun(attempt, { isDue: task.isDue, pauseAtTask: false, tries: task.tries });
    try {
      const returned = await run({ inputResponses, requestState, replay });
      const end = toEnd(returned, attempt, replay.wakeAtMs, context.client);
      unfinished.end = end;
      if (!end) return { returned };
      if (end.kind === "asked") checkQuestions(end.questions, context);
      // The questions are in `unfinished.end`; this result is not read.
      return { asked: {} };
    } catch (error) {
      // The legacy era has no error code for missing capabilities, so there the QuestionError is passed on.
      const isTyped = error instanceof QuestionError && context.client.era === "modern";
      if (isTyped && error.missing.length > 0) throw missingCapabilities(error.missing);
      throw error;
    }
  };
}

/** Checks questions before they are sent. @throws {KitError} `options-invalid` for an invalid sampling request. */
function checkQuestions(asked: readonly Asked[], context: RequestContext): void {
  for (const { request } of asked) {
    // The request was built from a question, so it can be read as one.
    const question = request as unknown as Question;
    checkSampling(question, context.limits);
    warnOfSecrets(question, context);
  }
}

/** Calls the tool. Hooks see its result, or a substitute if this run did not end the task. */
async function serveTask(context: RequestContext, taskId: string, unfinished: Unfinished): Promise<JsonObject> {
  try {
    const result = await callTool({ ...context, request: withProgress(context.request) });
    if (!unfinished.end) return { resultType: "complete", ...result };
  } catch (error) {
    if (!isAnswering(error)) throw error;
    unfinished.end = answered(await error.answer(context));
  }
  return standIn(unfinished.end, taskId);
}

/** Returns the result that hooks see if a run did not end the task. */
function standIn(end: RunEnd, taskId: string): JsonObject {
  if (end.kind !== "asked") return { resultType: "task", taskId, status: "working" };
  const requests = end.questions.map(({ key, request }) => [key, request]);
  return { resultType: "input_required", inputRequests: Object.fromEntries(requests) as JsonObject };
}

/** Returns the end of a run, or undefined if the handler returned its result. */
function toEnd(
  returned: unknown,
  attempt: Attempt,
  wakeAtMs: number | undefined,
  client: ClientFacts,
): RunEnd | undefined {
  if (returned === PAUSED) return { kind: "paused" };
  if (returned === SUSPENDED) return { kind: "asked", questions: toAsked(attempt.questions(), client) };
  if (returned === WAITING && wakeAtMs !== undefined) {
    // Open questions are sent while a step waits for its next try.
    const questions = toAsked(attempt.pending, client);
    return questions.length > 0 ? { kind: "asked", questions, wakeAtMs } : { kind: "waiting", wakeAtMs };
  }
  if (!isInputRequired(returned)) return undefined;
  const { inputRequests, requestState } = returned;
  const questions = Object.entries(inputRequests).map(([key, question]) => ({
    key,
    request: toRequest(question, client),
  }));
  return { kind: "asked", questions, round: requestState === undefined ? {} : { requestState } };
}

function toAsked(questions: Readonly<Record<string, Question>>, client: ClientFacts): Asked[] {
  return Object.entries(questions).map(([key, question]) => ({
    key,
    digest: computeDigest(question),
    request: toRequest(question, client),
  }));
}

/** Returns the request for the client. Unlike a modern request, a legacy request has the id of a URL elicitation. */
function toRequest(question: Question, { era }: ClientFacts): JsonObject {
  return era === "modern" ? toInputRequest(question) : { ...question };
}

/** Returns the end of a run that threw an error with questions. The handler runs again with the answers. */
function answered({ inputRequests }: JsonObject): RunEnd {
  const questions = Object.entries(isObject(inputRequests) ? inputRequests : {});
  return {
    kind: "asked",
    questions: questions.map(([key, request]) => ({ key, request: request as JsonObject })),
    round: {},
  };
}

/**
 * Adds a progress token: the handler's progress becomes the status message, even if the client did not ask for
 * progress.
 */
function withProgress(request: JSONRPCRequest): JSONRPCRequest {
  return { ...request, params: { ...request.params, _meta: { progressToken: "task", ...readMeta(request.params) } } };
}

function progressText({ message, progress, total }: JsonObject): string {
  if (typeof message === "string") return message;
  return total === undefined ? String(progress) : `${progress} of ${total}`;
}
