import { pause } from "../../core/basics/pause.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { ExtensionContext } from "../api/extensions.ts";
import { Deadline, untilAborted } from "../basics/deadline.ts";
import { ClientError, invalidAnswer } from "../basics/errors.ts";
import { isInterruption } from "../connection/recovery.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import { backoffMs } from "../transports/backoff.ts";
import { TaskError } from "./errors.ts";
import { TaskQuestions } from "./questions.ts";
import { isOver, isStale, readTask, type SeenTask } from "./task-state.ts";

/** The default time between two requests for the status, in milliseconds, and its bounds. */
const POLL_MS = 1_000;
const POLL_MIN_MS = 20;
const POLL_MAX_MS = 60_000;
/** The minimum time between two requests while the server reports changes, in milliseconds. A report may be lost, so polling continues. */
const LISTENING_POLL_MS = 30_000;
/** The maximum number of consecutive failures of a request, which take about half a minute. */
const FAILURES_MAX = 8;
/** How long a task is polled after its TTL, in milliseconds. */
const GRACE_MS = 60_000;

/** The parts of the client that all its tasks share. */
export interface DriverParts extends Pick<ExtensionContext, "client" | "answer" | "report"> {
  /** Aborts when the client closes. */
  readonly signal: AbortSignal;
  /** Called when the first caller starts to wait for a task, and when the last caller has stopped. */
  onAwaited(driver: TaskDriver, isAwaited: boolean): void;
}

/** Polls one task until its end, answers its questions, and gets its result. */
export class TaskDriver {
  readonly isModern: boolean;
  /** Whether the server reports changes of the task. */
  isListening = false;
  onStatus: ((task: SeenTask) => void) | undefined;
  onProgress: ((params: JsonObject) => void) | undefined;
  readonly #parts: DriverParts;
  readonly #questions: TaskQuestions;
  readonly #seenAtMs = Date.now();
  #task: SeenTask;
  #waiters = 0;
  #run: { readonly outcome: Promise<JsonObject>; readonly abort: AbortController } | undefined;
  #sleep = new AbortController();
  /** Whether a `tasks/result` request of 2025-11-25 is open, on whose stream questions arrive. */
  #isReceiving = false;
  #result: JsonObject | undefined;
  #cancelling: Promise<void> | undefined;

  constructor(parts: DriverParts, task: SeenTask, isModern: boolean) {
    this.#parts = parts;
    this.#task = task;
    this.isModern = isModern;
    this.#questions = new TaskQuestions(parts.answer, () => this.#sleep.abort());
  }

  get task(): SeenTask {
    return this.#task;
  }

  /** Takes a newer state of the task. */
  take(task: SeenTask): void {
    if (isStale(task, this.#task)) return;
    const { status, statusMessage } = this.#task;
    this.#task = task;
    if (task.status !== status || task.statusMessage !== statusMessage) this.#notify();
    if (task.status !== "working") this.#sleep.abort();
  }

  /** Takes a state from a notification. If the task has ended and the notification lacks the result, the task is polled at once. */
  takeNotification(task: SeenTask): void {
    const hasEnd =
      !this.isModern || task.status === "cancelled" || task.result !== undefined || task.error !== undefined;
    if (isOver(task) && !hasEnd) this.#sleep.abort();
    else this.take(task);
  }

  /** Requests the status. @throws {TaskError} `gone` if the server does not know the task. */
  async refresh(options?: RequestOptions): Promise<SeenTask> {
    this.take(readTask("tasks/get", await this.#request("tasks/get", {}, options)));
    return this.#task;
  }

  /** Asks the server to cancel the task. Has no effect if the task has ended. Concurrent calls share one request. */
  cancel(options?: RequestOptions): Promise<void> {
    this.#cancelling ??= this.#cancel(options).finally(() => {
      this.#cancelling = undefined;
    });
    return this.#cancelling;
  }

  async #cancel(options?: RequestOptions): Promise<void> {
    try {
      const result = await this.#request("tasks/cancel", {}, options);
      // A server of 2025-11-25 returns the task.
      if (result.taskId !== undefined) this.take(readTask("tasks/cancel", result));
    } catch (error) {
      if (!(error instanceof TaskError)) throw error;
    }
    this.#sleep.abort();
  }

  /**
   * Waits for the result.
   *
   * @param totalTimeoutMs How long to wait, in milliseconds. 0 means no limit.
   * @throws {McpError} if the call failed with an error.
   * @throws {TaskError} if the task has no result.
   */
  async outcome(signal: AbortSignal | undefined, totalTimeoutMs: number): Promise<JsonObject> {
    const deadline = new Deadline({
      what: `Waiting for the task ${this.#task.id}`,
      timeoutMs: 0,
      totalTimeoutMs,
      signal,
    });
    this.#waiters += 1;
    this.#run ??= this.#start();
    const { outcome, abort } = this.#run;
    try {
      return await untilAborted(outcome, deadline.signal);
    } finally {
      deadline.stop();
      this.#waiters -= 1;
      if (this.#waiters === 0) {
        this.#run = undefined;
        abort.abort(new ClientError("closed", "The task is no longer awaited."));
      }
    }
  }

  #start(): { readonly outcome: Promise<JsonObject>; readonly abort: AbortController } {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, this.#parts.signal]);
    this.#parts.onAwaited(this, true);
    const outcome = this.#drive(signal).finally(() => {
      this.#questions.stop();
      this.#parts.onAwaited(this, false);
    });
    // All callers may have stopped waiting.
    outcome.catch(() => undefined);
    return { outcome, abort };
  }

  async #drive(signal: AbortSignal): Promise<JsonObject> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#result) return this.#result;
      if (isOver(this.#task)) return this.#end(signal);
      this.#sleep = new AbortController();
      if (this.isModern) await this.#answer(signal);
      else if (this.#task.status === "input_required") this.#receiveQuestions(signal);
      await rest(this.#pollMs, AbortSignal.any([signal, this.#sleep.signal]));
      if (isOver(this.#task) || this.#result) continue;
      await this.#persist("tasks/get", signal, () => this.refresh({ signal }));
      this.#checkExpiry();
    }
  }

  /** @throws {TaskError} `gone` if the task has not ended although its TTL is over. */
  #checkExpiry(): void {
    const { id, ttlMs } = this.#task;
    if (isOver(this.#task) || typeof ttlMs !== "number" || Date.now() - this.#seenAtMs <= ttlMs + GRACE_MS) return;
    throw new TaskError("gone", id, `The task ${id} has not ended within its ${ttlMs} ms (ttlMs).`);
  }

  /** Answers the questions of a modern task. Polling continues meanwhile, because the server may withdraw a question. */
  async #answer(signal: AbortSignal): Promise<void> {
    this.#questions.take(this.#task.status === "input_required" ? this.#task.inputRequests : {});
    const inputResponses = this.#questions.answers();
    if (!inputResponses) return;
    await this.#persist("tasks/update", signal, () => this.#request("tasks/update", { inputResponses }, { signal }));
    this.#questions.markSent(inputResponses);
    this.#sleep.abort();
  }

  /** Opens the stream on which a server of 2025-11-25 asks its questions. If it breaks, the next poll opens it again. */
  #receiveQuestions(signal: AbortSignal): void {
    if (this.#isReceiving) return;
    this.#isReceiving = true;
    this.#request("tasks/result", {}, { signal, timeoutMs: 0, totalTimeoutMs: 0 })
      .then((result) => {
        this.#result = result;
        this.#sleep.abort();
      })
      // The status of the task shows whether the task has failed.
      .catch(() => undefined)
      .finally(() => {
        this.#isReceiving = false;
      });
  }

  async #end(signal: AbortSignal): Promise<JsonObject> {
    const { id, status, statusMessage, result, error } = this.#task;
    if (status === "cancelled") throw new TaskError("cancelled", id, statusMessage ?? `The task ${id} was cancelled.`);
    if (!this.isModern) {
      this.#result = await this.#persist("tasks/result", signal, () => this.#request("tasks/result", {}, { signal }));
      return this.#result;
    }
    if (status === "completed" && isObject(result)) return result;
    if (status === "failed" && isObject(error) && typeof error.code === "number") {
      throw new McpError(error.code, String(error.message), error.data);
    }
    throw invalidAnswer("tasks/get", `the task ${id} is ${status} without a result or an error`);
  }

  /** The time until the next request for the status, in milliseconds. */
  get #pollMs(): number {
    const { pollIntervalMs = POLL_MS } = this.#task;
    const intervalMs = Math.min(Math.max(pollIntervalMs || POLL_MS, POLL_MIN_MS), POLL_MAX_MS);
    return this.isListening ? Math.max(intervalMs, LISTENING_POLL_MS) : intervalMs;
  }

  /** Repeats a request while its failure may be temporary, because the task continues without a connection. */
  async #persist<T>(method: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      signal.throwIfAborted();
      try {
        return await run();
      } catch (error) {
        signal.throwIfAborted();
        if (!isTemporary(error) || failures >= FAILURES_MAX) throw error;
        this.#parts.report({ type: "request-repeated", method, error });
        await rest(Math.max(backoffMs(failures, undefined), retryAfterMs(error)), signal);
      }
    }
  }

  async #request(method: string, params: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    const { id: taskId } = this.#task;
    try {
      return await this.#parts.client.request(method, { taskId, ...params }, options);
    } catch (error) {
      const isUnknown = McpError.is(error) && error.code === ErrorCode.InvalidParams && method !== "tasks/result";
      if (!isUnknown) throw error;
      const text = `The server does not know the task ${taskId}: ${error.message}`;
      throw new TaskError("gone", taskId, text, { cause: error });
    }
  }

  #notify(): void {
    try {
      this.onStatus?.(this.#task);
    } catch (error) {
      this.#parts.report({ type: "handler-failed", handler: "onStatus", error });
    }
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await pause(ms, signal);
}

function isTemporary(error: unknown): error is ClientError {
  if (!ClientError.is(error)) return false;
  const { code, response } = error;
  const isBusy = code === "http-status" && response?.status === 429;
  return isBusy || code === "timeout" || code === "session-lost" || isInterruption(error);
}

/** Returns the pause that the server asks for, in milliseconds, at most a minute. */
function retryAfterMs({ response }: ClientError): number {
  const seconds = Number(response?.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0) * 1_000, POLL_MAX_MS) : 0;
}
