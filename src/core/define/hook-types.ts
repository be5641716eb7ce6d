/**
 * The hooks an author may put around requests, and what they are given.
 *
 * @module
 */
import type { HookTools } from "../protocol/execution.ts";
import type { JsonObject, RequestId } from "../protocol/jsonrpc.ts";
import type { RequestDescription } from "../protocol/request-description.ts";

/**
 * A request, or a notification of your own, as hooks see it. `result` and `error` are set once `next()` has settled.
 */
export interface RequestData<Env = unknown> extends Omit<RequestDescription, "requestId">, HookTools<Env> {
  /** Absent for a notification. */
  readonly requestId?: RequestId;
  /** The params of a notification. */
  readonly params?: JsonObject;
  /** The result, once `next()` has returned it. */
  result?: JsonObject;
  /** The exception, once `next()` has thrown it. */
  error?: unknown;
}

/**
 * Wraps a request, and each run of a task's handler, which has `taskId`: its result is an unfinished task where the run
 * was cut or waits, and one that asks where it asks; what the hook returns instead counts for the last run only. Returns
 * what `next()` gave, or a result of its own; may throw McpError to refuse. Results are objects, but those of a legacy
 * client's custom method, which are whatever its handler returned.
 *
 * Wraps notifications of the author's own as well: then there is no `requestId`, `next()` gives `{}` when the handler has
 * returned, what the hook returns is not sent, and what it throws goes to `onError`.
 */
export type AroundHook<Env = unknown> = (
  data: RequestData<Env>,
  next: () => Promise<JsonObject>,
) => Promise<JsonObject | readonly unknown[] | string | number | boolean | null>;

/** A finished request. */
export interface RequestEnd<Env = unknown> extends Omit<RequestData<Env>, "result" | "error" | "requestId" | "params"> {
  /** The id that the client gave the request. */
  readonly requestId: RequestId;
  /**
   * How it ended. error: with an error, or with a tool's result that says `isError`. cancelled: its client cancelled it,
   * went away or ended the session first, so that what came of it is of no interest.
   */
  readonly outcome: "ok" | "error" | "cancelled";
  /** The code the client was answered with; undefined for a result, also where that says `isError`, and when cancelled. */
  readonly errorCode: number | undefined;
  /** Milliseconds from dispatch to answer or cancellation, hooks included; of a task from its creation to its end. */
  readonly durationMs: number;
  /** How a task ended; with `taskId` only. expired: its time was over first. */
  readonly taskStatus?: "completed" | "failed" | "cancelled" | "expired";
}

/**
 * Called when a request has ended. The platform waits for the promise it returns, as for `waitUntil`; the client does
 * not.
 */
export type RequestEndHook<Env = unknown> = (end: RequestEnd<Env>) => void | Promise<void>;
