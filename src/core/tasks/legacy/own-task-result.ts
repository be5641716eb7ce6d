/**
 * `tasks/result`: waits for the end of a task, and meanwhile asks the client what the handler wants to know, on the
 * stream of the request.
 *
 * @module
 * @see MCP 2025-11-25, basic/utilities/tasks, "Result Retrieval" and "Input Required Status"
 */

import type { FailedQuestion } from "../../ask/answers.ts";
import { QuestionError } from "../../ask/question-errors.ts";
import type { Question } from "../../ask/questions.ts";
import type { Registry } from "../../define/registry.ts";
import { McpError } from "../../protocol/errors.ts";
import { ErrorCode, type JSONRPCRequest, type JsonObject } from "../../protocol/jsonrpc.ts";
import { pause } from "../../protocol/pause.ts";
import type { Call } from "../../run/call.ts";
import { digestOf, failedEntry } from "../../run/journal.ts";
import { type TaskView, unknownTask } from "../task.ts";
import type { TaskKeeper } from "../task-methods.ts";
import { isOver, resultOf, toOwnTask, withRelatedTask } from "./own-task.ts";

/** A task, and what those who wait for it need beside: none of it is for the wire. */
export interface WaitedTask extends TaskView {
  /** The call that created the task, up to its name: hooks see its questions as those of that call. */
  readonly request: JSONRPCRequest;
  /** When it goes on, though nothing it asks is answered; absent: not before. */
  readonly wakeAtMs?: number | undefined;
}

/** Keeps tasks that can be waited for. A task that is not the caller's is like one that is not there. */
export interface WaitingKeeper extends TaskKeeper {
  /** The status of the task once it no longer works, or after a while. */
  wait(taskId: string, call: Call): Promise<WaitedTask | undefined>;
  /** Takes that a question which waits has no answer. */
  fail(taskId: string, key: string, failed: FailedQuestion, call: Call): Promise<boolean>;
}

/** The requests of a session that wait for the change of a task by another request. */
export class TaskChanges {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** @returns What ends it. */
  listen(taskId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(taskId) ?? new Set();
    this.#listeners.set(taskId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(taskId);
    };
  }

  tell(taskId: string): void {
    for (const listener of this.#listeners.get(taskId) ?? []) listener();
  }
}

/** @throws {McpError} what the call would have thrown; -32602 when there is no such task, or its time is over. */
export async function awaitResult(
  taskId: string,
  server: Registry,
  call: Call,
  keeper: WaitingKeeper,
  changes: TaskChanges,
): Promise<JsonObject> {
  for (;;) {
    call.ending.signal.throwIfAborted();
    const task = await unlessAborted(keeper.wait(taskId, call), call.ending.signal);
    if (!task) throw unknownTask();
    if (isOver(task)) return resultOf(task);
    if (task.status !== "input_required") continue;
    call.emit({ jsonrpc: "2.0", method: "notifications/tasks/status", params: toOwnTask(task) });
    const { request } = task;
    const asker = call.asker.for?.({ server, request, call }) ?? call.asker;
    await askAll(task, { ...call, asker }, keeper, changes);
  }
}

/** Returns the result of the work, or rejects with the signal's reason when that aborts first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", onAbort));
}

/** Asks all a task waits for. Resolves when all is answered, or the task changed otherwise. */
async function askAll(task: WaitedTask, call: Call, keeper: WaitingKeeper, changes: TaskChanges): Promise<void> {
  const { taskId, inputRequests = {} } = task;
  const questions = Object.entries(inputRequests) as [string, Question][];
  if (questions.length === 0) throw waits("It has asked nothing.");
  const withdrawn = new AbortController();
  const ending = { signal: AbortSignal.any([call.ending.signal, withdrawn.signal]) };
  const stop = changes.listen(taskId, () => void withdrawIfAnswered());
  /** Another request of the client may have answered one of several, or ended the task. */
  const withdrawIfAnswered = async () => {
    // Where the status cannot be read, it is read again later.
    const left = await keeper.read(taskId, call).catch(() => undefined);
    if (!asksSome(left, inputRequests)) withdrawn.abort(WITHDRAWN);
  };
  void watch(task, { ...call, ending }, keeper, () => withdrawn.abort(WITHDRAWN));
  const asked = questions.map(async ([key, question]) => {
    const kept = await ask(taskId, key, question, { ...call, ending }, keeper);
    if (kept) changes.tell(taskId);
  });
  try {
    await Promise.all(asked);
  } catch (error) {
    if (error !== WITHDRAWN) throw error;
  } finally {
    stop();
    withdrawn.abort(WITHDRAWN);
    await Promise.allSettled(asked);
  }
}

/** Whether it still asks one of these. */
function asksSome(task: TaskView | undefined, inputRequests: JsonObject = {}): boolean {
  return Object.keys(inputRequests).some((key) => Object.hasOwn(task?.inputRequests ?? {}, key));
}

/** Withdraws the questions of a task that goes on beside them, once it asks none of them any more. */
async function watch(asked: WaitedTask, call: Call, keeper: WaitingKeeper, withdraw: () => void): Promise<void> {
  const { signal } = call.ending;
  for (let task = asked; !signal.aborted && task.wakeAtMs !== undefined; ) {
    await pause(Math.max(task.wakeAtMs - Date.now(), task.pollIntervalMs), signal);
    // Where the status cannot be read, it is read again later.
    const left = signal.aborted ? task : await keeper.wait(task.taskId, call).catch(() => undefined);
    if (!left || !asksSome(left, asked.inputRequests)) return withdraw();
    task = left;
  }
}

/** The reason of questions that no longer wait for an answer. */
const WITHDRAWN = new Error("The task goes on without.");

/** Why a question has no answer, where that is for the handler to know. The others are asked again with the next result. */
const FOR_HANDLER: readonly QuestionError["reason"][] = ["refused", "limit", "invalid-answer"];

/** Asks one thing, and hands on what came of it. */
async function ask(
  taskId: string,
  key: string,
  question: Question,
  call: Call,
  keeper: WaitingKeeper,
): Promise<boolean> {
  const asked: Question = { ...question, params: withRelatedTask(question.params ?? {}, taskId) };
  // For a request that outlives its object: it is not asked again.
  const known = { key: `${taskId} ${key}`, digest: digestOf(asked) };
  try {
    const answer = await call.asker.ask(asked, call.ending.signal, known);
    await call.record?.({ ...known, answer });
    return keeper.update(taskId, { [key]: answer }, call);
  } catch (error) {
    if (!(error instanceof QuestionError)) throw error;
    const { reason, message, code } = error;
    if (FOR_HANDLER.includes(reason)) {
      await call.record?.(failedEntry(known.key, known.digest, error));
      return keeper.fail(taskId, key, { reason, message, code }, call);
    }
    throw waits(message);
  }
}

function waits(why: string): McpError {
  return new McpError(ErrorCode.InvalidRequest, `The task waits for input. ${why}`, { reason: "input-required" });
}
