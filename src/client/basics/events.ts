/**
 * The events that a client reports to `onEvent`.
 *
 * @module
 */

/** A warning, a failed handler, or a step that the client has taken by itself, such as a recovery. */
export type ClientEvent =
  /** Something is wrong, but the client continues. */
  | { readonly type: "warning"; readonly message: string }
  /** A handler from the options threw. `handler` is the name of the option, such as `onProgress`. */
  | { readonly type: "handler-failed"; readonly handler: string; readonly error: unknown }
  /**
   * A stream ended before its response was complete. It is resumed after `delayMs` milliseconds, from the event with the id
   * `lastEventId`. `method` is absent for the stream of messages that belong to no request.
   */
  | {
      readonly type: "stream-reconnecting";
      readonly method?: string | undefined;
      readonly lastEventId?: string | undefined;
      readonly attempt: number;
      readonly delayMs: number;
    }
  /** A stream was resumed. */
  | { readonly type: "stream-resumed"; readonly method?: string | undefined; readonly lastEventId?: string | undefined }
  /** The stream of messages that belong to no request could not be resumed, so notifications no longer arrive. */
  | { readonly type: "stream-lost"; readonly error: Error }
  /** The server no longer knew the session, so a new one was opened. Its subscriptions and log level were restored. */
  | { readonly type: "session-reopened" }
  /** The channel has closed, for example because its process ended. It is opened again after `delayMs` milliseconds. */
  | {
      readonly type: "reconnecting";
      readonly attempt: number;
      readonly delayMs: number;
      readonly error?: Error | undefined;
    }
  /** The channel was opened again, with the same subscriptions and log level. */
  | { readonly type: "reconnected" }
  /** A request is sent again after `error`, because the server has not run it, or because repeating it is safe. */
  | { readonly type: "request-repeated"; readonly method: string; readonly error: Error }
  /** The era was detected. `reason` explains why the client fell back to an older version or transport. */
  | { readonly type: "connected"; readonly protocolVersion: string; readonly reason?: string | undefined }
  /** The channel closed without `close()` having been called, and cannot be opened again. */
  | { readonly type: "closed"; readonly error?: Error | undefined };

/** Receives the events of a client. */
export type EventHook = (event: ClientEvent) => void;

/** Prints warnings and failed handlers. The default of `onEvent`, so that they do not go unnoticed. */
export function printProblem(event: ClientEvent): void {
  if (event.type === "warning" || event.type === "handler-failed") console.warn("mcp-edge/client:", event);
}
