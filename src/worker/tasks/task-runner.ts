/**
 * Who has the handlers of tasks run, where it is not the alarm of their objects.
 *
 * @module
 */
import type { TaskStatus } from "../../core/tasks/task.ts";

/** What a driver is told of a task. */
export interface DrivenTask {
  readonly taskId: string;
  /** Id of the object: 64 hexadecimal digits. */
  readonly object: string;
}

/** What a turn came to. JSON. */
export interface TaskTurn {
  readonly status: TaskStatus;
  /** Milliseconds until the task is forgotten. */
  readonly leftMs: number;
  /** Keys of the steps done in it. */
  readonly steps: readonly string[];
}

/** Calls `work()` of the object, again and again until the task waits or is over. */
export interface TaskDriver {
  /** Begins, or goes on; may be told so again at any time. Rejects where it could not: it is told again later. */
  drive(env: unknown, task: DrivenTask): Promise<void>;
  /** The task is cancelled. */
  stop(env: unknown, taskId: string): Promise<void>;
}

/** A part that drives tasks: the option `runner` of `tasks()`. */
export interface TaskRunner<Objects extends object> {
  /** @param turn Has the handler of the task run once. */
  attach(turn: (env: unknown, object: string) => Promise<TaskTurn>): {
    readonly driver: TaskDriver;
    /** Classes for the Worker to export. */
    readonly objects: Objects;
  };
}
