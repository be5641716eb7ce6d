/**
 * One run of a task's handler: to its end, to a question, or to where it is cut. The journal says where it was.
 *
 * @module
 */
import { QuestionError } from "../asker.ts";
import type { Call } from "../context.ts";
import { McpError, toErrorObject } from "../errors.ts";
import { lacking, toInputRequest } from "../input-required.ts";
import { isObject, type JSONRPCErrorObject, type JSONRPCRequest, type JsonObject } from "../jsonrpc.ts";
import { metaOf } from "../lifecycle.ts";
import type { Question } from "../question.ts";
import { Attempt } from "../replay/attempt.ts";
import { digestOf, type JournalData, type JournalEntry } from "../replay/journal.ts";
import { isAnswering, isInputRequired, type RunRounds, SUSPENDED } from "../rounds.ts";
import type { McpServer } from "../server.ts";
import { callTool } from "../tool-call.ts";
import type { TaskRound } from "./begin-task.ts";
import { CUT, CuttableRun, WAITING } from "./cuttable-run.ts";
import type { TriesKeeper } from "./kept-tries.ts";

/** What a run came to. */
export type RunEnd =
  | { readonly kind: "completed"; readonly result: JsonObject }
  | { readonly kind: "failed"; readonly error: JSONRPCErrorObject }
  /** `round`: asked by returning; the answers are the next round's, which keeps this state. */
  | {
      readonly kind: "asked";
      readonly questions: readonly Asked[];
      readonly round?: { readonly requestState?: string };
      /** When another run is to be begun, answered or not. */
      readonly wakeAtMs?: number | undefined;
    }
  | { readonly kind: "cut" }
  /** All that is left waits for the next try of a step. */
  | { readonly kind: "waiting"; readonly wakeAtMs: number };

/** One question of a task, as it waits for its answer. JSON. */
export interface Asked {
  /** As the handler knows it. */
  readonly key: string;
  /** Of the question; absent where it was asked by returning. */
  readonly digest?: string;
  /** The entry of `inputRequests`. */
  readonly request: JsonObject;
}

export interface TaskRun {
  readonly request: JSONRPCRequest;
  readonly journal: JournalData;
  readonly round: TaskRound;
  /** Stores an entry. When it returns, nothing leaves the process before the entry is safe. */
  readonly record: (entry: JournalEntry) => void;
  /** Hears how far the work is, in words. */
  readonly report: (message: string) => void;
  /** Whether the run is to end at the next step that is done. */
  readonly isDue: () => boolean;
  /** Keeps the tries of steps; absent: they wait within the run. */
  readonly tries?: TriesKeeper;
}

/** Runs once. Rejects for nothing that a handler does. */
export async function runTask(
  server: McpServer<never>,
  given: Omit<Call<never>, "rounds" | "emit" | "once">,
  task: TaskRun,
): Promise<RunEnd> {
  const { request } = task;
  let end: RunEnd | undefined;
  const rounds: RunRounds = async (_server, _request, call, run) => {
    const attempt = new Attempt({ call, journal: task.journal, record: task.record });
    const { inputResponses, requestState } = task.round;
    const replay = new CuttableRun(attempt, { isDue: task.isDue, cutAtTask: false, tries: task.tries });
    try {
      const returned = await run({ inputResponses, requestState, replay });
      if (returned === CUT) end = { kind: "cut" };
      else if (returned === WAITING) end = waiting(replay.wakeAtMs ?? 0, attempt);
      else if (returned === SUSPENDED) end = { kind: "asked", questions: askedOf(attempt.questions()) };
      else if (isInputRequired(returned)) {
        const { inputRequests, requestState } = returned;
        end = {
          kind: "asked",
          questions: Object.entries(inputRequests).map(([key, question]) => ({
            key,
            request: toInputRequest(question),
          })),
          round: requestState === undefined ? {} : { requestState },
        };
      } else return { returned };
      // Nobody reads this one.
      return { asked: {} };
    } catch (error) {
      if (error instanceof QuestionError && error.missing.length > 0) throw lacking(error.missing);
      throw error;
    }
  };
  const call: Call<never> = {
    ...given,
    rounds,
    emit: ({ method, params }) => {
      if (method === "notifications/progress") task.report(progressText(params ?? {}));
    },
    // A task runs once by being one.
    once: (_server, _request, _call, work) => work(),
  };
  try {
    const result = await callTool(server, withProgress(request), call);
    return end ?? { kind: "completed", result: { resultType: "complete", ...result } };
  } catch (error) {
    if (isAnswering(error)) return answered(await error.answer(server, request, call));
    if (McpError.is(error)) return { kind: "failed", error: toErrorObject(error) };
    throw error;
  }
}

/** A question that waits beside a step goes out. */
function waiting(wakeAtMs: number, { pending }: Attempt): RunEnd {
  const questions = askedOf(pending);
  return questions.length > 0 ? { kind: "asked", questions, wakeAtMs } : { kind: "waiting", wakeAtMs };
}

function askedOf(questions: Readonly<Record<string, Question>>): Asked[] {
  return Object.entries(questions).map(([key, question]) => ({
    key,
    digest: digestOf(question),
    request: toInputRequest(question),
  }));
}

/** An error that asks: the handler is run again with the answers. */
function answered({ inputRequests }: JsonObject): RunEnd {
  const questions = Object.entries(isObject(inputRequests) ? inputRequests : {});
  return {
    kind: "asked",
    questions: questions.map(([key, request]) => ({ key, request: request as JsonObject })),
    round: {},
  };
}

/** The handler's progress is heard whether the client asked for it or not: it becomes the status message. */
function withProgress(request: JSONRPCRequest): JSONRPCRequest {
  return { ...request, params: { ...request.params, _meta: { progressToken: "task", ...metaOf(request.params) } } };
}

function progressText({ message, progress, total }: JsonObject): string {
  if (typeof message === "string") return message;
  return total === undefined ? String(progress) : `${progress} of ${total}`;
}
