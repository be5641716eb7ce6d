/**
 * Derives a task's public view and the time of its next alarm from its stored state.
 *
 * @module
 */

import { KitError, McpError } from "../../core/protocol/errors.ts";
import { ErrorCode, type JSONRPCErrorObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { ROUNDS_MAX } from "../../core/run/create-rounds.ts";
import type { Asked } from "../../core/tasks/run-task.ts";
import type { TaskView } from "../../core/tasks/task.ts";
import type { StoredStart, StoredState } from "./task-store.ts";

/** Returns the task as `tasks/get` shows it. */
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

/** Returns the state of a task that was just created. */
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

/** Returns when the task expires and is deleted, in epoch milliseconds. */
export function expiresAtMs({ createdAtMs, ttlMs }: StoredStart): number {
  return createdAtMs + ttlMs;
}

/** Returns when the next alarm is due: now for a task that works, when a step is to be retried, or when the task expires. */
export function nextAlarmMs(start: StoredStart, state: StoredState): number {
  if (isOver(state)) return expiresAtMs(start);
  const idleMs = state.status === "working" ? Date.now() : Number.POSITIVE_INFINITY;
  return Math.min(state.wakeAtMs ?? idleMs, expiresAtMs(start));
}

/** Returns whether the task has outlived its `ttlMs`. */
export function isExpired(start: StoredStart): boolean {
  return Date.now() >= expiresAtMs(start);
}

/**
 * Returns a key for the wire that this task has not used yet. Questions returned with `inputRequired()` have no digest,
 * and a handler may use the same key for them again.
 */
export function wireKey({ key, digest }: Asked, { uses }: StoredState): string {
  if (digest !== undefined) return key;
  const use = (uses[key] ?? 0) + 1;
  uses[key] = use;
  return use === 1 ? key : `${key}~${use}`;
}

/** Returns the error of a task that is given up after too many interrupted runs. */
export function interrupted(times: number): JSONRPCErrorObject {
  return {
    code: ErrorCode.InternalError,
    message: `The task was interrupted ${times} times in a row without making progress.`,
    data: { reason: "interrupted" },
  };
}

/** Returns the error for a handler that returns one state after another without a question or a step. */
export function endless(): KitError {
  const message = `The handler of a task returned inputRequired({}, state) ${ROUNDS_MAX} times without a question or a step.`;
  return new KitError("options-invalid", message);
}

/** Returns the reason with which a run is aborted when its task expires. */
export function expired(): McpError {
  return new McpError(ErrorCode.InternalError, "The task has expired.");
}
