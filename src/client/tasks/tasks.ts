import { KitError } from "../../core/protocol/errors.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Client } from "../api/client.ts";
import type { ClientExtension } from "../api/extensions.ts";
import type { Listing } from "../requests/listing.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { CallToolResult, Tool } from "../requests/results.ts";
import { Background } from "./background.ts";
import { TaskDriver } from "./driver.ts";
import type { ListedTask, SeenTask, TaskState } from "./task-state.ts";

/** The options of {@link clientTasks}. */
export interface ClientTasksOptions {
  /**
   * Called with each task that a call has become. Store its `id` to resume it in another process with {@link resumeTask}.
   */
  readonly onTask?: (task: Task) => void;
  /**
   * How long the server should keep a task, in milliseconds. Sent only to servers of 2025-11-25, which may choose another time.
   *
   * @default the server chooses
   */
  readonly ttlMs?: number;
}

/** The options of {@link startTask} and {@link resumeTask}. */
export interface TaskOptions extends RequestOptions {
  /** Called when the status or its message changes while the result is awaited. */
  readonly onStatus?: (state: TaskState) => void;
}

/** The options of {@link Task.result}. */
export interface TaskResultOptions {
  /** Aborts the wait. The task continues; see {@link Task.cancel}. */
  readonly signal?: AbortSignal;
  /** How long to wait, in milliseconds. The task continues afterwards. 0 means no limit. @default 0 */
  readonly totalTimeoutMs?: number;
}

/** A tool call that runs in the background on the server. */
export class Task {
  readonly #end: TaskDriver | CallToolResult;

  /** Created by {@link startTask} and {@link resumeTask}. @internal */
  constructor(end: TaskDriver | CallToolResult) {
    this.#end = end;
  }

  /**
   * The id, for {@link resumeTask}. Anyone who knows it may be able to read the task. Undefined if the server has returned the result
   * without a task.
   */
  get id(): string | undefined {
    return this.#end instanceof TaskDriver ? this.#end.task.id : undefined;
  }

  /** The last known state. It is updated while the result is awaited, and by {@link refresh}. */
  get state(): TaskState {
    return this.#end instanceof TaskDriver ? toTaskState(this.#end.task) : { status: "completed" };
  }

  /** Requests the state from the server. @throws {TaskError} `gone` if the server no longer has the task. */
  async refresh(options?: RequestOptions): Promise<TaskState> {
    return this.#end instanceof TaskDriver ? toTaskState(await this.#end.refresh(options)) : this.state;
  }

  /**
   * Waits for the result. Meanwhile, the client polls the status, or listens to its changes if the server supports that, and answers
   * the questions of the task with its handlers. A broken connection does not end the wait. While no call of this method waits, the
   * client neither polls nor answers questions.
   *
   * @throws {McpError} if the call failed with an error.
   * @throws {TaskError} `cancelled` or `gone`.
   * @throws {ClientError} if the server is unreachable for about half a minute, a handler throws, or `totalTimeoutMs` is over. The
   *   task continues, and this method may be called again.
   */
  async result({ signal, totalTimeoutMs = 0 }: TaskResultOptions = {}): Promise<CallToolResult> {
    if (!(this.#end instanceof TaskDriver)) return this.#end;
    const result = await this.#end.outcome(signal, totalTimeoutMs);
    return { ...result, content: Array.isArray(result.content) ? result.content : [] };
  }

  /** Asks the server to cancel the task. The server may ignore this. Has no effect if the task has ended. */
  async cancel(options?: RequestOptions): Promise<void> {
    if (this.#end instanceof TaskDriver) await this.#end.cancel(options);
  }
}

const backgrounds = new WeakMap<Client, Background>();

/**
 * Lets servers run tool calls as tasks. `callTool` returns the result whether or not the server makes the call a task: the client waits
 * until the task ends, answers its questions, and cancels it when the call is cancelled or takes longer than `totalTimeoutMs`.
 *
 * ```ts
 * import { connect } from "mcp-edge/client";
 * import { clientTasks, startTask } from "mcp-edge/client/tasks";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0", use: [clientTasks()] });
 * const { content } = await client.callTool("report", { year: 2026 });
 * const task = await startTask(client, "report", { year: 2027 });
 * console.log(task.id, task.state.status);
 * ```
 *
 * @see io.modelcontextprotocol/tasks; MCP 2025-11-25, basic/utilities/tasks
 */
export function clientTasks({ onTask, ttlMs }: ClientTasksOptions = {}): ClientExtension {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0)) {
    throw new KitError("options-invalid", `clientTasks(): ttlMs is ${ttlMs}; use a whole number of milliseconds.`);
  }
  return (context) => {
    const background = new Background(context, { ttlMs, onTask: (driver) => onTask?.(new Task(driver)) });
    backgrounds.set(context.client, background);
    return background.hooks;
  };
}

/**
 * Calls a tool as a task, and resolves as soon as the server has created the task. A modern server may decide not to create a
 * task, and a tool of 2025-11-25 might not support tasks. The returned object then already has the result.
 *
 * @param tool The name of a tool, or a tool from a list.
 * @throws {KitError} `options-invalid` if the client was connected without `clientTasks()`.
 */
export async function startTask(
  client: Client,
  tool: string | Pick<Tool, "name" | "annotations">,
  args: JsonObject = {},
  { onStatus, ...options }: TaskOptions = {},
): Promise<Task> {
  const background = findBackground(client, "startTask");
  return createHandle(await background.start(options, (marked) => client.callTool(tool, args, marked)), onStatus);
}

/**
 * Resumes a task by its id, for example in another process or after the client has connected again.
 *
 * @throws {TaskError} `gone` if the server does not know the task.
 * @throws {ClientError} `capability-missing` if the server has not declared tasks.
 */
export async function resumeTask(
  client: Client,
  id: string,
  { onStatus, ...options }: TaskOptions = {},
): Promise<Task> {
  return createHandle(await findBackground(client, "resumeTask").resume(id, options), onStatus);
}

/**
 * Lists the tasks of a server of 2025-11-25. Later versions have no such list, and servers of 2025-11-25 need not support it.
 *
 * @throws {ClientError} `capability-missing` if the server does not list tasks.
 */
export function listTasks(client: Client, options: RequestOptions = {}): Listing<ListedTask> {
  return findBackground(client, "listTasks").list(options);
}

function createHandle(end: TaskDriver | JsonObject, onStatus: TaskOptions["onStatus"]): Task {
  if (end instanceof TaskDriver) end.onStatus = onStatus && ((task) => onStatus(toTaskState(task)));
  // The cast is safe because anything else is the result of callTool().
  return new Task(end as TaskDriver | CallToolResult);
}

function findBackground(client: Client, name: string): Background {
  const background = backgrounds.get(client);
  if (background) return background;
  throw new KitError("options-invalid", `${name}(): the client has no tasks. Pass use: [clientTasks()] to connect().`);
}

function toTaskState({ status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs }: SeenTask): TaskState {
  return { status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs };
}
