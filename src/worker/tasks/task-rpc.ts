/**
 * What the Worker and the object of a task say to each other.
 *
 * @module
 */

import type { FailedQuestion } from "../../core/ask/answers.ts";
import type { Principal } from "../../core/protocol/client-facts.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { TaskStart } from "../../core/tasks/begin-task.ts";
import type { WaitedTask } from "../../core/tasks/legacy/own-task-result.ts";
import type { TaskView } from "../../core/tasks/task.ts";
import type { PlainRequest } from "../../http/sessions.ts";

/** What a task is made of. Goes over RPC. */
export interface TaskSeed extends TaskStart, TaskOwner {
  readonly http: PlainRequest | undefined;
  /** The tool's own; undefined: as `tasks()` says. */
  readonly toolTtlMs: number | undefined;
}

/** The methods the Worker calls. `who` is from {@link ownerOf}; a task of another is as if it were not there. */
export interface TaskRpc {
  /** Resolves when the task will not be lost. */
  create(seed: TaskSeed): Promise<TaskView>;
  read(who: string): Promise<TaskView | undefined>;
  /** How it stands once it no longer works, or after so long. */
  wait(who: string, atMostMs: number): Promise<WaitedTask | undefined>;
  /** @param failed What has no answer, and why. */
  update(who: string, responses: JsonObject, failed?: Readonly<Record<string, FailedQuestion>>): Promise<boolean>;
  cancel(who: string): Promise<boolean>;
}

/** Who a task belongs to. */
export interface TaskOwner {
  readonly principal: Principal | undefined;
  /** Name of the endpoint that made it. */
  readonly endpoint?: string | undefined;
  /** Name of the class of that endpoint's objects. */
  readonly className: string;
}

/** Who a task belongs to, as text. */
export function ownerOf({ principal, endpoint, className }: TaskOwner): string {
  return JSON.stringify([className, endpoint, principal?.issuer, principal?.subject]);
}
