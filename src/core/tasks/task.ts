/**
 * A task as clients see it, and the errors about tasks.
 *
 * @module
 * @see io.modelcontextprotocol/tasks, "Tasks"
 */

import type { ClientFacts } from "../protocol/client-facts.ts";
import * as ErrorCode from "../protocol/error-codes.ts";
import { invalidParams, McpError } from "../protocol/errors.ts";
import { isObject, type JSONRPCErrorObject, type JsonObject } from "../protocol/jsonrpc.ts";

/** The name under which clients and servers declare the extension. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The status of a task. The last three are final. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** A task with the members that belong to its status: the `DetailedTask` of the extension. */
export interface TaskView {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  /** The time of creation, in ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** The lifetime of the task from its creation to its deletion, in milliseconds. */
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  /** The open questions, by key. */
  readonly inputRequests?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: JSONRPCErrorObject;
}

/** Whether the client's request declares support for tasks. */
export function supportsTasks({ capabilities }: ClientFacts): boolean {
  const { extensions } = capabilities;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** Returns the -32021 error for a client that does not support tasks. */
export function tasksMissing(what: string): McpError {
  return new McpError(ErrorCode.MissingRequiredClientCapability, `${what} needs the extension ${TASKS_EXTENSION}.`, {
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
}

/**
 * Returns a -32602 error. It is the same for a task that has expired, never existed or belongs to another caller, and
 * for a task whose call needs a scope that the caller lacks.
 */
export function unknownTask(): McpError {
  const text = "There is no such task: it has expired, never existed, is not yours, or needs a scope that you lack.";
  return invalidParams(text, { field: "taskId" });
}
