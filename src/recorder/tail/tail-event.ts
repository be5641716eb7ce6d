/**
 * The events that the tail Worker reports: events of workerd's streaming tail, without their secrets and unused members.
 *
 * @module
 */

/** One event of an invocation. */
export interface TailEvent {
  /** The id of the invocation. */
  readonly invocation: string;
  /** The id of the trace, which an invocation shares with all invocations that it causes. */
  readonly trace: string;
  /** The id of the span in which the event occurred. For an onset: the span of the caller. */
  readonly span?: string;
  /** The number of the event within its invocation. */
  readonly sequence: number;
  readonly atMs: number;
  readonly event: TailEventBody;
}

/** An attribute of a span. */
export type AttributeValue = string | number | boolean;

/** The content of an event. */
export type TailEventBody =
  | OnsetEvent
  | { readonly type: "spanOpen"; readonly name: string; readonly spanId: string }
  | { readonly type: "spanClose" }
  | { readonly type: "attributes"; readonly values: Readonly<Record<string, AttributeValue>> }
  | { readonly type: "return"; readonly status?: number }
  | LogEvent
  | { readonly type: "exception"; readonly name: string; readonly message: string; readonly stack?: string }
  | { readonly type: "outcome"; readonly outcome: string };

/** The beginning of an invocation. */
export interface OnsetEvent {
  readonly type: "onset";
  readonly spanId: string;
  readonly isObject: boolean;
  /** The exported class or entrypoint. */
  readonly entrypoint?: string;
  readonly objectId?: string;
  /** The cause of the invocation. */
  readonly cause: "fetch" | "jsrpc" | "alarm" | "websocket" | "scheduled" | "other";
  /** The method and the URL of a fetch. */
  readonly method?: string;
  readonly url?: string;
  /** Whether a fetch opens a WebSocket. */
  readonly isUpgrade?: boolean;
  /** The id that the proxy assigned to the exchange. */
  readonly exchange?: string;
  /** The method, target and version in the headers of a modern request. */
  readonly message?: { readonly method: string; readonly name?: string; readonly version?: string };
  /** The type of a WebSocket event, and the code of a close. */
  readonly socket?: "message" | "close" | "error";
  readonly closeCode?: number;
}

/** A line that was logged with `console`. */
export interface LogEvent {
  readonly type: "log";
  readonly level: string;
  /** The logged values. Errors are strings. */
  readonly message: readonly unknown[];
  /** The errors that were logged. */
  readonly errors: readonly { readonly name: string; readonly message: string; readonly stack?: string }[];
}

/** The header in which the proxy sends the id of the exchange to the Worker. */
export const EXCHANGE_HEADER = "mcp-edge-record";
