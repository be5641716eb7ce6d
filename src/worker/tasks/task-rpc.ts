/**
 * The RPC interface between the Worker and the Durable Object of a task.
 *
 * @module
 */

import type { FailedQuestion } from "../../core/ask/answers.ts";
import type { Principal } from "../../core/protocol/client-facts.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { TaskStart } from "../../core/tasks/begin-task.ts";
import type { WaitedTask } from "../../core/tasks/legacy/legacy-task-result.ts";
import type { TaskView } from "../../core/tasks/task.ts";
import type { PlainRequest } from "../../http/sessions.ts";

/** The data with which a new task is created. It is sent over RPC. */
export interface TaskSeed extends TaskStart, TaskOwner {
  readonly http: PlainRequest | undefined;
  /** The `taskTtlMs` of the tool. If it is undefined, the `ttlMs` of `tasks()` applies. */
  readonly toolTtlMs: number | undefined;
}

/** The caller of a task's method. */
export interface TaskCaller {
  /** From {@link getOwner}. */
  readonly owner: string;
  /** The scopes of the caller's token. Undefined if the caller receives only whether the task has ended. */
  readonly scopes: readonly string[] | undefined;
}

/**
 * The methods that the Worker calls. A task counts as not found if it has another owner, or if the caller lacks a scope that
 * the task's call required.
 */
export interface TaskRpc {
  /** Resolves when the task is durable. */
  create(seed: TaskSeed): Promise<TaskView>;
  read(caller: TaskCaller): Promise<TaskView | undefined>;
  /** Returns the task as soon as its status is no longer `working`, but after `atMostMs` at the latest. */
  wait(caller: TaskCaller, atMostMs: number): Promise<WaitedTask | undefined>;
  /** Records answers to questions. @param failed The reasons why questions failed instead of being answered, by key. */
  update(
    caller: TaskCaller,
    responses: JsonObject,
    failed?: Readonly<Record<string, FailedQuestion>>,
  ): Promise<boolean>;
  cancel(caller: TaskCaller): Promise<boolean>;
}

/** The owner of a task: its principal and its endpoint. */
export interface TaskOwner {
  readonly principal: Principal | undefined;
  /** Name of the endpoint that created the task. */
  readonly endpoint?: string | undefined;
  /** Name of the Durable Object class of that endpoint. */
  readonly className: string;
}

/** Returns the owner of a task as a string, for comparison. */
export function getOwner({ principal, endpoint, className }: TaskOwner): string {
  return JSON.stringify([className, endpoint, principal?.issuer, principal?.subject]);
}
