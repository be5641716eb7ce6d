/**
 * A task as clients of 2025-11-25 see it, whose protocol has tasks of its own.
 *
 * @module
 * @see MCP 2025-11-25, basic/utilities/tasks
 */
import type { ClientFacts } from "../../protocol/client-facts.ts";
import { invalidParams, McpError } from "../../protocol/errors.ts";
import { ErrorCode, isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { metaOf } from "../../protocol/lifecycle.ts";
import { OWN_TASKS_VERSION } from "../../protocol/versions.ts";
import type { TaskStatus, TaskView } from "../task.ts";

/** Names the task a message belongs to, in its `_meta`. */
const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** Units of text of a status message. The whole is in the result. */
const MESSAGE_MAX = 500;

/** True for a client whose version has tasks of its own. */
export function hasOwnTasks({ rules }: ClientFacts): boolean {
  return rules === OWN_TASKS_VERSION;
}

/** The `Task` of the schema. */
export function toOwnTask(view: TaskView): JsonObject {
  const { taskId, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = view;
  const statusMessage = messageOf(view);
  return {
    taskId,
    status: statusOf(view),
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
  };
}

/** The status of a task: here a tool that failed is a task that failed. */
export function statusOf({ status, result }: TaskView): TaskStatus {
  return status === "completed" && result?.isError === true ? "failed" : status;
}

export function isOver({ status }: TaskView): boolean {
  return status !== "working" && status !== "input_required";
}

/** With the task it belongs to, beside what its `_meta` says. */
export function withRelatedTask(members: JsonObject, taskId: string): JsonObject {
  return { ...members, _meta: { ...metaOf(members), [RELATED_TASK]: { taskId } } };
}

/** The answer that the call would have got. @throws {McpError} when that is an error, and when it was cancelled. */
export function resultOf({ taskId, error, result }: TaskView): JsonObject {
  if (error) throw new McpError(error.code, error.message, error.data);
  if (!result) throw new McpError(ErrorCode.InvalidRequest, "The task was cancelled.", { reason: "cancelled" });
  const { resultType: _, ...rest } = result;
  return withRelatedTask(rest, taskId);
}

/**
 * The milliseconds a call wants its task kept; undefined when it does not say.
 *
 * @throws {McpError} -32602.
 */
export function readTtl(task: unknown): number | undefined {
  if (!isObject(task)) throw invalidParams("tools/call: params.task is not an object.", { field: "task" });
  const { ttl } = task;
  if (ttl === undefined) return undefined;
  if (Number.isSafeInteger(ttl) && (ttl as number) >= 0) return ttl as number;
  throw invalidParams("tools/call: params.task.ttl is not a whole number of milliseconds.", { field: "task.ttl" });
}

function messageOf({ statusMessage, result }: TaskView): string | undefined {
  if (result?.isError !== true) return statusMessage;
  const [block] = Array.isArray(result.content) ? result.content : [];
  return isObject(block) && typeof block.text === "string" ? block.text.slice(0, MESSAGE_MAX) : statusMessage;
}
