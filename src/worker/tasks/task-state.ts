/**
 * Functions of a task's stored state, which derive its public view, the time of its next alarm, and its errors.
 *
 * @module
 */

import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { KitError, McpError } from "../../core/protocol/errors.ts";
import type { JSONRPCErrorObject, JsonObject } from "../../core/protocol/jsonrpc.ts";
import { ROUNDS_MAX } from "../../core/run/create-rounds.ts";
import type { Asked } from "../../core/tasks/run-task.ts";
import type { TaskView } from "../../core/tasks/task.ts";
import type { StoredQuestion, StoredStart, StoredState } from "./task-store.ts";

/** Returns the task in the form of a `tasks/get` result. */
export function toTaskView(
  taskId: string,
  { createdAtMs, ttlMs, pollIntervalMs }: StoredStart,
  { status, message, updatedAtMs, questions, result, error }: StoredState,
): TaskView {
  const requests = Object.entries(questions).map(([key, { request }]) => [key, request]);
  return {
    taskId,
    status,
    ...(message === undefined ? {} : { statusMessage: message }),
    createdAt: new Date(createdAtMs).toISOString(),
    lastUpdatedAt: new Date(updatedAtMs).toISOString(),
    ttlMs,
    pollIntervalMs,
    ...(status === "input_required" ? { inputRequests: Object.fromEntries(requests) as JsonObject } : {}),
    ...(result ? { result } : {}),
    ...(error ? { error } : {}),
  };
}

/** Returns the initial state of a task. */
export function newState({ round, createdAtMs }: StoredStart): StoredState {
  return {
    status: "working",
    updatedAtMs: createdAtMs,
    starts: 0,
    journaled: 0,
    round,
    questions: {},
    answers: {},
    uses: {},
    silent: 0,
    tries: {},
  };
}

export type FinalStatus = "completed" | "failed" | "cancelled";

/** Returns whether the status of the task is final. */
export function isOver({ status }: StoredState): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Undoes all changes of a state. */
export function restore(state: StoredState, before: StoredState): void {
  for (const key of Object.keys(state)) delete (state as unknown as JsonObject)[key];
  Object.assign(state, before);
}

/** Replaces the open questions. Returns the questions that are no longer open. */
export function replaceQuestions(state: StoredState, questions: StoredState["questions"]): StoredQuestion[] {
  const closed = Object.entries(state.questions).filter(([key]) => !Object.hasOwn(questions, key));
  state.questions = questions;
  return closed.map(([, question]) => question);
}

/** Returns when the task expires and is deleted, in epoch milliseconds. */
export function expiresAtMs({ createdAtMs, ttlMs }: StoredStart): number {
  return createdAtMs + ttlMs;
}

/** Returns when the next alarm is due: now for a working task, at the retry of a step, or when the task expires. */
export function nextAlarmMs(start: StoredStart, state: StoredState): number {
  if (isOver(state)) return expiresAtMs(start);
  const idleMs = state.status === "working" ? Date.now() : Infinity;
  return Math.min(state.wakeAtMs ?? idleMs, expiresAtMs(start));
}

/** Returns whether the task has expired. */
export function isExpired(start: StoredStart): boolean {
  return Date.now() >= expiresAtMs(start);
}

/**
 * Returns a key for `inputRequests` that this task has not used yet. A handler may reuse the keys of questions that it
 * returns with `inputRequired()`, which have no digest.
 */
export function wireKey({ key, digest }: Asked, { uses }: StoredState): string {
  if (digest !== undefined) return key;
  const use = (uses[key] ?? 0) + 1;
  uses[key] = use;
  return use === 1 ? key : `${key}~${use}`;
}

/** Returns the error of a task that failed after too many interrupted runs. */
export function interrupted(times: number): JSONRPCErrorObject {
  return {
    code: ErrorCode.InternalError,
    message: `The task was interrupted ${times} times in a row without making progress.`,
    data: { reason: "interrupted" },
  };
}

/** Returns the error for a handler that repeatedly returns a state without a question or a step. */
export function endless(): KitError {
  const message = `The handler of a task returned inputRequired({}, state) ${ROUNDS_MAX} times without a question or a step.`;
  return new KitError("options-invalid", message);
}

/** Returns the abort reason of a run whose task has expired. */
export function expired(): McpError {
  return new McpError(ErrorCode.InternalError, "The task has expired.");
}
