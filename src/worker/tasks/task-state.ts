/**
 * What follows from how a task stands: what clients see of it, and when there is something to do.
 *
 * @module
 */

import { KitError, McpError } from "../../core/protocol/errors.ts";
import { ErrorCode, type JSONRPCErrorObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { ROUNDS_MAX } from "../../core/run/rounds.ts";
import type { Asked } from "../../core/tasks/run-task.ts";
import type { TaskView } from "../../core/tasks/task.ts";
import type { StoredStart, StoredState } from "./task-store.ts";

/** The task as `tasks/get` shows it. */
export function viewOf(
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

export type FinalStatus = "completed" | "failed" | "cancelled";

/** Whether the task has come to its end. */
export function isOver({ status }: StoredState): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** When all of it is forgotten. */
export function overAtMs({ createdAtMs, ttlMs }: StoredStart): number {
  return createdAtMs + ttlMs;
}

/** When there is something to do next: at once, when a step is due, or when all is to be forgotten. */
export function nextAlarmMs(start: StoredStart, state: StoredState): number {
  if (isOver(state)) return overAtMs(start);
  const idleMs = state.status === "working" ? Date.now() : Number.POSITIVE_INFINITY;
  return Math.min(state.wakeAtMs ?? idleMs, overAtMs(start));
}

/** Whether its time is over. */
export function isExpired(start: StoredStart): boolean {
  return Date.now() >= overAtMs(start);
}

/** One that this task has not used: a handler that asks by returning may use its own again. */
export function wireKey({ key, digest }: Asked, { uses }: StoredState): string {
  if (digest !== undefined) return key;
  const use = (uses[key] ?? 0) + 1;
  uses[key] = use;
  return use === 1 ? key : `${key}~${use}`;
}

/** The error of a task that is given up. */
export function interrupted(times: number): JSONRPCErrorObject {
  return {
    code: ErrorCode.InternalError,
    message: `The task was interrupted ${times} times without getting any further.`,
    data: { reason: "interrupted" },
  };
}

/** Of a handler that goes from state to state, and asks and does nothing. */
export function endless(): KitError {
  const message = `The handler of a task returned inputRequired({}, state) ${ROUNDS_MAX} times, with no question or step in between.`;
  return new KitError("options-invalid", message);
}

/** What a run is told whose task's time is over. */
export function expired(): McpError {
  return new McpError(ErrorCode.InternalError, "The task's time is over.");
}
