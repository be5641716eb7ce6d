/** Why there is no result of a task. */
export type TaskErrorCode = "cancelled" | "gone";

/**
 * Thrown when a task has no result:
 *
 * - `cancelled`: it was cancelled, by this client or by another.
 * - `gone`: the server does not know it: it has expired, never existed, or belongs to another user.
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

  /** Creates an error. The client does this; tests may create their own. */
  constructor(code: TaskErrorCode, taskId: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.taskId = taskId;
  }
}
