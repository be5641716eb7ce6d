/**
 * Serves `tasks/result`: waits for the end of a task, and sends the handler's questions to the client on the stream of
 * the request.
 *
 * @module
 * @see MCP 2025-11-25, basic/utilities/tasks, "Result Retrieval" and "Input Required Status"
 */

import type { FailedQuestion } from "../../ask/answers.ts";
import { needsCapabilities, QuestionError } from "../../ask/question-errors.ts";
import type { Question } from "../../ask/questions.ts";
import { pause } from "../../basics/pause.ts";
import * as ErrorCode from "../../protocol/error-codes.ts";
import { McpError } from "../../protocol/errors.ts";
import type { JSONRPCRequest, JsonObject } from "../../protocol/jsonrpc.ts";
import { computeDigest, failedEntry } from "../../run/journal.ts";
import type { RequestContext } from "../../run/request-context.ts";
import { type TaskView, unknownTask } from "../task.ts";
import type { TaskBackend } from "../task-methods.ts";
import { isOver, toLegacyTask, toResult, withRelatedTask } from "./legacy-task.ts";

/** A task with internal members for the requests that wait for it. These members are not sent to clients. */
export interface WaitedTask extends TaskView {
  /**
   * The call that created the task, without its arguments. Hooks see the task's questions as questions of that call.
   */
  readonly request: JSONRPCRequest;
  /** The time at which the task continues even without answers. If absent, it waits for them. */
  readonly wakeAtMs?: number | undefined;
}

/** Stores tasks whose end can be awaited. A task of another caller is treated as if it did not exist. */
export interface LegacyTaskBackend extends TaskBackend {
  /** Resolves with the task once it is no longer working, or after some time. */
  wait(taskId: string, context: RequestContext): Promise<WaitedTask | undefined>;
  /** Whether a task of the caller has ended, even if the call needed scopes that the caller lacks now. */
  hasEnded(taskId: string, context: RequestContext): Promise<boolean>;
  /** Records that an open question failed. */
  fail(taskId: string, key: string, failed: FailedQuestion, context: RequestContext): Promise<boolean>;
}

/** Notifies the waiting requests of a session when another request changes a task. */
export class TaskChanges {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** Calls the listener at each change. @returns A function that removes the listener. */
  listen(taskId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(taskId) ?? new Set();
    this.#listeners.set(taskId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(taskId);
    };
  }

  notify(taskId: string): void {
    for (const listener of this.#listeners.get(taskId) ?? []) listener();
  }
}

/**
 * Waits for the result of a task.
 *
 * @throws {McpError} the error of the call; -32602 if the task does not exist or has expired.
 */
export async function awaitResult(
  taskId: string,
  context: RequestContext,
  backend: LegacyTaskBackend,
  changes: TaskChanges,
): Promise<JsonObject> {
  for (;;) {
    context.ending.signal.throwIfAborted();
    const task = await unlessAborted(backend.wait(taskId, context), context.ending.signal);
    if (!task) throw unknownTask();
    if (isOver(task)) return toResult(task);
    if (task.status !== "input_required") continue;
    context.emit({ jsonrpc: "2.0", method: "notifications/tasks/status", params: toLegacyTask(task) });
    const { request } = task;
    const asker = context.asker.for?.({ ...context, request }) ?? context.asker;
    await askAll(task, { ...context, asker }, backend, changes);
  }
}

/** Settles like `work`, or rejects with the signal's reason if it aborts first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", onAbort));
}

/** Asks all open questions of a task. Resolves when all are answered, or when the task no longer asks any of them. */
async function askAll(
  task: WaitedTask,
  context: RequestContext,
  backend: LegacyTaskBackend,
  changes: TaskChanges,
): Promise<void> {
  const { taskId, inputRequests = {} } = task;
  const questions = Object.entries(inputRequests) as [string, Question][];
  if (questions.length === 0) throw waits("It has no open question.");
  const withdrawn = new AbortController();
  const ending = { signal: AbortSignal.any([context.ending.signal, withdrawn.signal]) };
  const stop = changes.listen(taskId, () => void withdrawIfAnswered());
  /** Another request of the client may have answered a question or ended the task. */
  const withdrawIfAnswered = async () => {
    // If the status cannot be read now, it is read again later.
    const left = await backend.read(taskId, context).catch(() => undefined);
    if (!asksSome(left, inputRequests)) withdrawn.abort(WITHDRAWN);
  };
  void watch(task, { ...context, ending }, backend, () => withdrawn.abort(WITHDRAWN));
  const asked = questions.map(async (question) => {
    const kept = await ask(taskId, question, { ...context, ending }, backend);
    if (kept) changes.notify(taskId);
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

/** Whether the task still asks one of these questions. */
function asksSome(task: TaskView | undefined, inputRequests: JsonObject = {}): boolean {
  return Object.keys(inputRequests).some((key) => Object.hasOwn(task?.inputRequests ?? {}, key));
}

/** Withdraws the questions of a task that can continue without answers, once it no longer asks any of them. */
async function watch(
  asked: WaitedTask,
  context: RequestContext,
  backend: LegacyTaskBackend,
  withdraw: () => void,
): Promise<void> {
  const { signal } = context.ending;
  for (let task = asked; !signal.aborted && task.wakeAtMs !== undefined; ) {
    await pause(Math.max(task.wakeAtMs - Date.now(), task.pollIntervalMs), signal);
    // If the status cannot be read now, it is read again later.
    const left = signal.aborted ? task : await backend.wait(task.taskId, context).catch(() => undefined);
    if (!left || !asksSome(left, asked.inputRequests)) return withdraw();
    task = left;
  }
}

/** The reason of questions that no longer wait for an answer. */
const WITHDRAWN = new Error("The task continues without the answer.");

/**
 * The failures that are passed to the handler. After any other failure, the next `tasks/result` asks the question
 * again.
 */
const FOR_HANDLER: readonly QuestionError["reason"][] = ["refused", "limit", "invalid-answer"];

/** Asks one question, and stores its answer or failure with the task. */
async function ask(
  taskId: string,
  [key, question]: readonly [string, Question],
  context: RequestContext,
  backend: LegacyTaskBackend,
): Promise<boolean> {
  const asked: Question = { ...question, params: withRelatedTask(question.params ?? {}, taskId) };
  // With this key, the question is not sent again if the object restarts during the request.
  const known = { key: `${taskId} ${key}`, digest: computeDigest(asked) };
  try {
    const answer = await context.asker.ask(asked, context.ending.signal, known);
    await context.record?.({ ...known, answer });
    return backend.update(taskId, { [key]: answer }, context);
  } catch (error) {
    if (!(error instanceof QuestionError)) throw error;
    const { reason, message, code, missing } = error;
    if (FOR_HANDLER.includes(reason)) {
      await context.record?.(failedEntry(known.key, known.digest, error));
      return backend.fail(taskId, key, { reason, message, code }, context);
    }
    throw waits(missing.length > 0 ? needsCapabilities("It", missing) : message);
  }
}

function waits(why: string): McpError {
  return new McpError(ErrorCode.InvalidRequest, `The task waits for input. ${why}`, { reason: "input-required" });
}
