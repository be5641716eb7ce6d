/** The reason why a task has no result. */
export type TaskErrorCode = "cancelled" | "gone";

/**
 * Thrown when a task has no result:
 *
 * - `cancelled`: the task was cancelled, by this client or another client.
 * - `gone`: the server does not know the task. It has expired, never existed, or belongs to another user.
 *
 * A task whose call failed with an error rejects with that `McpError` instead.
 */
export class TaskError extends Error {
  /** The class of the error. */
  override readonly name = "TaskError";
  /** The kind of failure, for programs. */
  readonly code: TaskErrorCode;
  /** The id of the task. */
  readonly taskId: string;

  /** Created by the client. @internal */
  constructor(code: TaskErrorCode, taskId: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.taskId = taskId;
  }
}
