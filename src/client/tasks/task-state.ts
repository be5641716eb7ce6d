/**
 * Reads tasks of both versions.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Tasks"; MCP 2025-11-25, basic/utilities/tasks, "Task"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { invalidAnswer } from "../basics/errors.ts";

/** The status of a task. `completed`, `failed` and `cancelled` are final. In 2025-11-25, a task whose tool has failed is `failed`. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** The state of a task. */
export interface TaskState {
  /** The status. */
  readonly status: TaskStatus;
  /** A description of the current work, or of the reason why the task has ended, for users and models. */
  readonly statusMessage?: string | undefined;
  /** The time of its creation, in ISO 8601. */
  readonly createdAt?: string | undefined;
  /** The time of its last change, in ISO 8601. */
  readonly lastUpdatedAt?: string | undefined;
  /** How long the server keeps the task after its creation, in milliseconds; null if it is never deleted. */
  readonly ttlMs?: number | null | undefined;
  /** The time between two requests for the status that the server asks for, in milliseconds. */
  readonly pollIntervalMs?: number | undefined;
}

/** A task with its id, as `tasks/list` returns it. */
export interface ListedTask extends TaskState {
  /** The id. */
  readonly id: string;
}

/** A task with its questions and its outcome. */
export interface SeenTask extends ListedTask {
  /** The open questions of a modern task, by key. */
  readonly inputRequests: JsonObject;
  readonly result: unknown;
  readonly error: unknown;
}

const STATUSES: readonly unknown[] = ["working", "input_required", "completed", "failed", "cancelled"];

/** Whether a task has ended. */
export function isOver({ status }: TaskState): boolean {
  return status !== "working" && status !== "input_required";
}

/**
 * Reads a task of either version.
 *
 * @param method The method of the message, for the error.
 * @throws {ClientError} `answer-invalid` if the task has no id or an unknown status.
 */
export function readTask(method: string, value: unknown): SeenTask {
  const {
    taskId,
    status,
    ttlMs,
    ttl = ttlMs,
    pollIntervalMs,
    pollInterval = pollIntervalMs,
    ...rest
  } = asObject(value);
  if (typeof taskId !== "string" || !STATUSES.includes(status)) {
    throw invalidAnswer(method, "it has no taskId, or an unknown status");
  }
  return {
    id: taskId,
    status: status as TaskStatus,
    statusMessage: asString(rest.statusMessage),
    createdAt: asString(rest.createdAt),
    lastUpdatedAt: asString(rest.lastUpdatedAt),
    ttlMs: typeof ttl === "number" || ttl === null ? ttl : undefined,
    pollIntervalMs: typeof pollInterval === "number" ? pollInterval : undefined,
    inputRequests: asObject(rest.inputRequests),
    result: rest.result,
    error: rest.error,
  };
}

/** Returns the task that a call has become; undefined if the result is not a task. */
export function createdTask(result: JsonObject, isModern: boolean): SeenTask | undefined {
  if (isModern) return result.resultType === "task" ? readTask("tools/call", result) : undefined;
  return isObject(result.task) && result.content === undefined ? readTask("tools/call", result.task) : undefined;
}

/** Whether a state is older than the known state. Notifications and responses may arrive in any order. */
export function isStale(task: TaskState, known: TaskState): boolean {
  const [time, before] = [task, known].map(({ lastUpdatedAt }) => Date.parse(lastUpdatedAt ?? ""));
  return isOver(known) || (time as number) < (before as number);
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
