/**
 * Tasks as servers of both versions describe them.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Tasks"; MCP 2025-11-25, basic/utilities/tasks, "Task"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { invalidAnswer } from "../basics/errors.ts";

/** The status of a task. The last three are final. In 2025-11-25 a task whose tool has failed is `failed`. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** What a server says about a task. */
export interface TaskState {
  /** The status. */
  readonly status: TaskStatus;
  /** What the task does, or why it ended, for people and models. */
  readonly statusMessage?: string | undefined;
  /** The time of its creation, in ISO 8601. */
  readonly createdAt?: string | undefined;
  /** The time of its last change, in ISO 8601. */
  readonly lastUpdatedAt?: string | undefined;
  /** The time, in milliseconds, from its creation until the server may delete it; null if it never does. */
  readonly ttlMs?: number | null | undefined;
  /** The time, in milliseconds, that the server wishes between two requests for the status. */
  readonly pollIntervalMs?: number | undefined;
}

/** A task with its id, as `tasks/list` has it. */
export interface ListedTask extends TaskState {
  /** The id. */
  readonly id: string;
}

/** A task with everything that the server sent. */
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
 * @param method The request that was answered with it, for the error.
 * @throws {ClientError} `answer-invalid` if it has no id or no known status.
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
    statusMessage: textIn(rest.statusMessage),
    createdAt: textIn(rest.createdAt),
    lastUpdatedAt: textIn(rest.lastUpdatedAt),
    ttlMs: typeof ttl === "number" || ttl === null ? ttl : undefined,
    pollIntervalMs: typeof pollInterval === "number" ? pollInterval : undefined,
    inputRequests: asObject(rest.inputRequests),
    result: rest.result,
    error: rest.error,
  };
}

/** Returns the task that a call became; undefined if the call was answered. */
export function createdTask(result: JsonObject, isModern: boolean): SeenTask | undefined {
  if (isModern) return result.resultType === "task" ? readTask("tools/call", result) : undefined;
  return isObject(result.task) && result.content === undefined ? readTask("tools/call", result.task) : undefined;
}

/** Whether a task is an earlier state of one that is known: notifications and answers may overtake each other. */
export function isStale(task: TaskState, known: TaskState): boolean {
  const [time, before] = [task, known].map(({ lastUpdatedAt }) => Date.parse(lastUpdatedAt ?? ""));
  return isOver(known) || (time as number) < (before as number);
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
