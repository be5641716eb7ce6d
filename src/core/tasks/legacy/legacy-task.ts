/**
 * The form of tasks for clients of 2025-11-25, the version whose core protocol has tasks.
 *
 * @module
 * @see MCP 2025-11-25, basic/utilities/tasks
 */

import type { ClientFacts } from "../../protocol/client-facts.ts";
import * as ErrorCode from "../../protocol/error-codes.ts";
import { invalidParams, McpError } from "../../protocol/errors.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { readMeta } from "../../protocol/lifecycle.ts";
import { LEGACY_TASKS_VERSION } from "../../protocol/versions.ts";
import type { TaskStatus, TaskView } from "../task.ts";

/** The key in `_meta` that names the task to which a message belongs. */
const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** The maximum number of characters of a status message. The full text is in the result. @limit internal */
const MESSAGE_MAX = 500;

/** Whether the core protocol of the client's version has tasks. */
export function hasLegacyTasks({ rules }: ClientFacts): boolean {
  return rules === LEGACY_TASKS_VERSION;
}

/** Converts a task to the `Task` of the schema. */
export function toLegacyTask(view: TaskView): JsonObject {
  const { taskId, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = view;
  const statusMessage = findMessage(view);
  return {
    taskId,
    status: toStatus(view),
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
  };
}

/** Returns the status of a task. In this version, a task whose tool returned an error has failed. */
export function toStatus({ status, result }: TaskView): TaskStatus {
  return status === "completed" && result?.isError === true ? "failed" : status;
}

export function isOver({ status }: TaskView): boolean {
  return status !== "working" && status !== "input_required";
}

/** Adds the task to the `_meta` of a message that belongs to it. */
export function withRelatedTask(members: JsonObject, taskId: string): JsonObject {
  return { ...members, _meta: { ...readMeta(members), [RELATED_TASK]: { taskId } } };
}

/** Returns the result of the call. @throws {McpError} the error of the call, or an error if the task was cancelled. */
export function toResult({ taskId, error, result }: TaskView): JsonObject {
  if (error) throw new McpError(error.code, error.message, error.data);
  if (!result) throw new McpError(ErrorCode.InvalidRequest, "The task was cancelled.", { reason: "cancelled" });
  const { resultType: _, ...rest } = result;
  return withRelatedTask(rest, taskId);
}

/**
 * Reads how long the client requests its task to be kept, in milliseconds. Undefined if it does not say.
 *
 * @throws {McpError} -32602 if the value is invalid.
 */
export function readTtl(task: unknown): number | undefined {
  if (!isObject(task)) throw invalidParams("tools/call: params.task is not an object.", { field: "task" });
  const { ttl } = task;
  if (ttl === undefined) return undefined;
  if (Number.isSafeInteger(ttl) && (ttl as number) >= 0) return ttl as number;
  throw invalidParams("tools/call: params.task.ttl is not a whole number of milliseconds.", { field: "task.ttl" });
}

function findMessage({ statusMessage, result }: TaskView): string | undefined {
  if (result?.isError !== true) return statusMessage;
  const [block] = Array.isArray(result.content) ? result.content : [];
  return isObject(block) && typeof block.text === "string" ? block.text.slice(0, MESSAGE_MAX) : statusMessage;
}
