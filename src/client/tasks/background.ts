/**
 * The tasks of one client: sends calls as tasks, and listens to the changes of awaited tasks.
 *
 * @module
 */

import { pause } from "../../core/basics/pause.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import type { ExtensionContext, ExtensionHooks } from "../api/extensions.ts";
import type { Next, OutgoingRequest } from "../api/wrapped-requests.ts";
import { ClientError, invalidAnswer, markMayHaveRun } from "../basics/errors.ts";
import { randomKey } from "../requests/idempotency-keys.ts";
import { LISTING_LIMITS, Listing } from "../requests/listing.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { Progress } from "../requests/results.ts";
import { type DriverParts, TaskDriver } from "./driver.ts";
import { declaresTasks, EXTENSION, hasExtension, takesTaskRequests } from "./support.ts";
import { createdTask, type ListedTask, readTask, type SeenTask } from "./task-state.ts";

/** The member of `_meta` with which a message of 2025-11-25 names its task. */
const RELATED = "io.modelcontextprotocol/related-task";
/** How long a task is only polled before the client opens a stream for it, in milliseconds. Many tasks end before that. */
const LISTEN_AFTER_MS = 2_000;
/** The maximum number of tasks on the stream. Other tasks are only polled. */
const LISTENED_MAX = 100;

/** The option of a call that should become a task: a function that receives the task. */
const START = Symbol("start");
type Receive = (driver: TaskDriver) => void;

export interface BackgroundOptions {
  readonly ttlMs: number | undefined;
  onTask(driver: TaskDriver): void;
}

export class Background {
  readonly #context: ExtensionContext;
  readonly #options: BackgroundOptions;
  readonly #hooks: { -readonly [K in keyof ExtensionHooks]: ExtensionHooks[K] };
  /** The `taskSupport` of each listed tool of a server of 2025-11-25, by name. */
  readonly #support = new Map<string, string>();
  readonly #drivers = new Map<string, TaskDriver>();
  /** The tasks whose changes the client listens to. */
  readonly #listened = new Set<TaskDriver>();
  readonly #parts: DriverParts;

  constructor(context: ExtensionContext, options: BackgroundOptions) {
    this.#context = context;
    this.#options = options;
    const { client, answer, report, signal } = context;
    this.#parts = {
      client,
      answer,
      report,
      signal,
      onAwaited: (driver, isAwaited) => (isAwaited ? void this.#listenTo(driver) : this.#stopListening(driver)),
    };
    this.#hooks = {
      capabilities: (era) => (era === "modern" ? { extensions: { [EXTENSION]: {} } } : {}),
      resultTypes: ["task"],
      onRequest: (request, next) => this.#onRequest(request, next),
      onQuestion: async (question, next) => {
        const related = readMeta(question.params)[RELATED];
        const answer = await next(question);
        return related === undefined ? answer : { ...answer, _meta: { ...readMeta(answer), [RELATED]: related } };
      },
      filter: () => (this.#listened.size > 0 ? { taskIds: [...this.#listened].map(({ task }) => task.id) } : {}),
    };
  }

  get hooks(): ExtensionHooks {
    return this.#hooks;
  }

  /** Calls a tool as a task. Resolves with the task, or with the result if the call did not become a task. */
  async start(
    options: RequestOptions,
    call: (options: RequestOptions) => Promise<JsonObject>,
  ): Promise<TaskDriver | JsonObject> {
    let driver: TaskDriver | undefined;
    const receive: Receive = (created) => {
      driver = created;
    };
    const result = await call({ ...options, [START]: receive } as RequestOptions);
    return driver ?? result;
  }

  /** Returns a task by its id, after the server has confirmed that it exists. */
  async resume(id: string, options: RequestOptions): Promise<TaskDriver> {
    const { isModern } = this;
    if (!declaresTasks(this.#context.client.server)) {
      throw new ClientError("capability-missing", "The server has not declared tasks.");
    }
    const unknown: SeenTask = { id, status: "working", inputRequests: {}, result: undefined, error: undefined };
    const driver = this.#drivers.get(id) ?? new TaskDriver(this.#parts, unknown, isModern);
    await driver.refresh(options);
    return driver;
  }

  /** Lists the tasks of the server. */
  list(options: RequestOptions): Listing<ListedTask> {
    const { client, report } = this.#context;
    const method = "tasks/list";
    const { tasks } = client.server.capabilities as { tasks?: JsonObject };
    if (this.isModern || tasks?.list === undefined) {
      throw new ClientError("capability-missing", `The server has not declared "tasks.list", which ${method} needs.`);
    }
    const read = async (cursor: string | undefined) => {
      const result = await client.request(method, cursor === undefined ? {} : { cursor }, options);
      if (!Array.isArray(result.tasks)) throw invalidAnswer(method, 'it has no list "tasks"');
      const nextCursor = typeof result.nextCursor === "string" ? result.nextCursor : undefined;
      return { items: result.tasks.map((task) => readTask(method, task)), nextCursor };
    };
    return new Listing(read, LISTING_LIMITS, (message) => report({ type: "warning", message }));
  }

  /** Whether the protocol version uses the tasks extension. */
  get isModern(): boolean {
    return hasExtension(this.#context.client.server);
  }

  async #onRequest(request: OutgoingRequest, next: Next<OutgoingRequest>): Promise<JsonObject> {
    const { method } = request;
    if (method === "tools/call") return this.#call(request, next);
    const result = await next(request);
    if (this.isModern && result.resultType === "task")
      throw invalidAnswer(method, "only a tool call may become a task");
    if (method === "tools/list") this.#learn(result);
    return result;
  }

  async #call(request: OutgoingRequest, next: Next<OutgoingRequest>): Promise<JsonObject> {
    const { options } = request;
    const startedMs = Date.now();
    const receive = (options as { [START]?: Receive })[START];
    const token = options.progressToken ?? (options.onProgress && randomKey());
    const sent = { ...request, options: { ...options, ...(token === undefined ? {} : { progressToken: token }) } };
    const result = await this.#send(sent, next, receive !== undefined);
    const { isModern } = this;
    const created = createdTask(result, isModern);
    if (!created) return result;
    const driver = this.#drivers.get(created.id) ?? new TaskDriver(this.#parts, created, isModern);
    driver.onProgress = (params) => {
      if (params.progressToken === token) options.onProgress?.(params as unknown as Progress);
    };
    receive?.(driver);
    this.#announce(driver);
    // The result of a started task is awaited through its handle. The result type shows outer extensions that this is not the result.
    return receive ? { resultType: "task" } : this.#complete(driver, options, startedMs);
  }

  /** Sends a call, as a task if the tool requires it, or supports it and the caller asks for it. A modern server decides by itself. */
  async #send(request: OutgoingRequest, next: Next<OutgoingRequest>, isRequested: boolean): Promise<JsonObject> {
    if (!takesTaskRequests(this.#context.client.server)) return next(request);
    const name = String(request.params?.name);
    const { signal } = request.options;
    const { ttlMs } = this.#options;
    const asTask = { ...request, params: { ...request.params, task: ttlMs === undefined ? {} : { ttl: ttlMs } } };
    // A tool that was not listed is looked up first, because servers differ in how they refuse a call that must be a task.
    if (!this.#support.has(name)) {
      this.#support.set(name, "forbidden");
      // The list passes through this extension, which stores the support of each tool.
      await this.#context.client.tools({ ...(signal ? { signal } : {}) }).all();
    }
    const support = this.#support.get(name);
    return next(support === "required" || (isRequested && support === "optional") ? asTask : request);
  }

  #announce(driver: TaskDriver): void {
    try {
      this.#options.onTask(driver);
    } catch (error) {
      this.#context.report({ type: "handler-failed", handler: "onTask", error });
    }
  }

  async #complete(driver: TaskDriver, options: RequestOptions, startedMs: number): Promise<JsonObject> {
    const { signal, totalTimeoutMs = this.#context.totalTimeoutMs } = options;
    const leftMs = totalTimeoutMs === 0 ? 0 : Math.max(totalTimeoutMs - (Date.now() - startedMs), 1);
    try {
      return await driver.outcome(signal, leftMs);
    } catch (error) {
      // The caller has no handle, so no one could get the result. A task whose connection was lost may still be useful.
      const isGivenUp = ClientError.is(error) && (error.code === "total-timeout" || error.code === "question-failed");
      if (signal?.aborted || isGivenUp) this.#cancel(driver);
      throw markMayHaveRun(error);
    }
  }

  #cancel(driver: TaskDriver): void {
    driver.cancel().catch((error: unknown) => {
      const message = `The task ${driver.task.id} is no longer awaited, and could not be cancelled: ${String(error)}`;
      this.#context.report({ type: "warning", message });
    });
  }

  #learn({ tools }: JsonObject): void {
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (!isObject(tool)) continue;
      const { taskSupport = "forbidden" } = isObject(tool.execution) ? tool.execution : {};
      this.#support.set(String(tool.name), String(taskSupport));
    }
  }

  /** Receives the notifications about an awaited task, and listens to its changes if it takes long. */
  async #listenTo(driver: TaskDriver): Promise<void> {
    const { id } = driver.task;
    this.#drivers.set(id, driver);
    // Set only now, because a client with this hook opens a stream in legacy sessions.
    this.#hooks.onNotification ??= (method, params) => this.#onNotification(method, params);
    if (!driver.isModern) return;
    await pause(LISTEN_AFTER_MS, this.#context.signal);
    if (this.#drivers.get(id) !== driver || this.#listened.size >= LISTENED_MAX || this.#context.signal.aborted) return;
    this.#listened.add(driver);
    try {
      const { taskIds } = await this.#context.listen();
      driver.isListening = Array.isArray(taskIds) && taskIds.includes(id);
    } catch {
      // The task continues to be polled.
    }
    if (!driver.isListening) this.#listened.delete(driver);
  }

  #stopListening(driver: TaskDriver): void {
    driver.isListening = false;
    this.#drivers.delete(driver.task.id);
    // The stream is closed with the last task. Otherwise it stays open, and the id of this task remains in its filter.
    const isLast = this.#listened.delete(driver) && this.#listened.size === 0;
    if (isLast && !this.#context.signal.aborted) this.#context.listen().catch(() => undefined);
  }

  #onNotification(method: string, params: JsonObject): void {
    if (method === "notifications/progress") {
      for (const driver of this.#drivers.values()) driver.onProgress?.(params);
    } else if (method === "notifications/tasks" || method === "notifications/tasks/status") {
      this.#drivers.get(String(params.taskId))?.takeNotification(readTask(method, params));
    }
  }
}
