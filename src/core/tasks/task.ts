/**
 * A task as clients see it, and the errors about tasks.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Tasks"
 */
import type { ClientFacts } from "../protocol/client-facts.ts";
import { invalidParams, McpError } from "../protocol/errors.ts";
import { ErrorCode, isObject, type JSONRPCErrorObject, type JsonObject } from "../protocol/jsonrpc.ts";

/** The extension, as clients and servers declare it. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The status of a task. The last three are final. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task with all that its status brings along: the `DetailedTask` of the extension. */
export interface TaskView {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from its creation until it is forgotten. */
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  /** The questions without an answer, by key. */
  readonly inputRequests?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: JSONRPCErrorObject;
}

/** True for a client that takes tasks, as its request says. */
export function takesTasks({ capabilities }: ClientFacts): boolean {
  const { extensions } = capabilities;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** -32021: the client does not take tasks. */
export function tasksMissing(what: string): McpError {
  return new McpError(ErrorCode.MissingRequiredClientCapability, `${what} needs the extension ${TASKS_EXTENSION}.`, {
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
}

/** -32602. Says the same of a task that never was, is no more, or is another's. */
export function unknownTask(): McpError {
  return invalidParams("There is no such task: it has expired, never was, or is not yours.", { field: "taskId" });
}
