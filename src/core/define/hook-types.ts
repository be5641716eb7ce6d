/**
 * The types of hooks around requests.
 *
 * @module
 */
import type { HookTools } from "../protocol/execution.ts";
import type { JsonObject, RequestId } from "../protocol/jsonrpc.ts";
import type { RequestDescription } from "../protocol/request-description.ts";

/** A request or custom notification, as hooks see it. `result` or `error` is set once `next()` has settled. */
export interface RequestData<Env = unknown> extends Omit<RequestDescription, "requestId">, HookTools<Env> {
  /** Absent for a notification. */
  readonly requestId?: RequestId;
  /**
   * The params, as the client sent them. Their `_meta` has members such as `traceparent`. Undefined if the message has
   * none, although a handler then receives an empty object.
   */
  readonly params?: JsonObject | undefined;
  /**
   * Identifies the session in logs and traces, for requests that the object of a session serves. It is not the session id, and
   * does not give access to the session.
   */
  readonly session?: string | undefined;
  /** The result, once `next()` has returned it. */
  result?: JsonObject;
  /** The exception, once `next()` has thrown it. */
  error?: unknown;
}

/**
 * Wraps a request. Returns the result of `next()` or another result, or throws McpError to refuse the request. Results
 * are objects, except the params of a legacy client's custom method, which may be any JSON value.
 *
 * Also wraps each run of a task's handler, with `taskId`. The result of a run that does not end the task is an
 * unfinished task or its questions, and the result of the hook is ignored.
 *
 * Also wraps custom notifications, without `requestId`. `next()` then returns `{}` when the handler has returned, the
 * result of the hook is not sent, and its exceptions go to `onError`.
 */
export type AroundHook<Env = unknown> = (
  data: RequestData<Env>,
  next: () => Promise<JsonObject>,
) => Promise<JsonObject | readonly unknown[] | string | number | boolean | null>;

/** A finished request. */
export interface RequestEnd<Env = unknown> extends Omit<RequestData<Env>, "result" | "error" | "requestId"> {
  /** The id that the client gave the request. */
  readonly requestId: RequestId;
  /**
   * How the request ended. `error`: with a JSON-RPC error, or with a tool result with `isError`. `cancelled`: the
   * client cancelled it, disconnected or ended the session first.
   */
  readonly outcome: "ok" | "error" | "cancelled";
  /**
   * The JSON-RPC error code sent to the client. Undefined for a result (including one with `isError`) and for a
   * cancelled request.
   */
  readonly errorCode: number | undefined;
  /**
   * The time from dispatch to the response or the cancellation, including hooks, in milliseconds. For a task: from its
   * creation to its end.
   */
  readonly durationMs: number;
  /** How a task ended; present only with `taskId`. `expired`: its `ttlMs` passed before it ended. */
  readonly taskStatus?: "completed" | "failed" | "cancelled" | "expired";
}

/**
 * Called when a request has ended. A returned promise is kept running as by `waitUntil`; the client does not wait for
 * it.
 */
export type RequestEndHook<Env = unknown> = (end: RequestEnd<Env>) => void | Promise<void>;

/** Hooks of the endpoint that serves a request. They run outside of the hooks of the server. */
export interface EndpointHooks<Env = unknown> {
  /** Wrap each request. The first hook is the outermost. */
  readonly around: readonly AroundHook<Env>[];
  /** Called when a request has ended. */
  readonly onRequestEnd: readonly RequestEndHook<Env>[];
}
