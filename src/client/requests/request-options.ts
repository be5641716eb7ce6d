import type { JsonObject, RequestId } from "../../core/protocol/jsonrpc.ts";
import type { Progress } from "./results.ts";

/** The options of one request. */
export interface RequestOptions {
  /** Cancels the request, also at the server. The promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** See `timeoutMs` of the client. */
  readonly timeoutMs?: number;
  /** See `totalTimeoutMs` of the client. */
  readonly totalTimeoutMs?: number;
  /** See `resetTimeoutOnProgress` of the client. */
  readonly resetTimeoutOnProgress?: boolean;
  /** Receives the progress of the request. */
  readonly onProgress?: (progress: Progress) => void;
  /** The progress token to send. It must differ from the tokens of all open requests. @default a unique token */
  readonly progressToken?: string | number;
  /** Whether the request is sent even if `cache()` has a fresh result. @default false */
  readonly fresh?: boolean;
  /**
   * A key by which the server recognises a repeated call, so that it runs once: at most 256 visible ASCII characters that cannot be
   * guessed. Use one key for each payment, order or similar operation. Store it before the call, and pass the same key when you call
   * again. A server that supports keys declares `mcp-edge/idempotencyKey`; other servers ignore them.
   *
   * @default a random key for each call, if the server supports keys and the tool does not have `readOnlyHint`
   */
  readonly idempotencyKey?: string;
  /**
   * Receives a token with which `client.resume()` can wait for the response, even in another process. Called whenever the server has
   * sent an event. Store the last token, and treat it as a secret. Called only over Streamable HTTP in versions up to 2025-11-25, if
   * the server assigns ids to its events.
   */
  readonly onResumeToken?: (token: string) => void;
  /**
   * Receives the JSON-RPC id of each message that is sent for the request: more than one if it is repeated, or sent again with
   * answers to questions.
   */
  readonly onRequestId?: (id: RequestId) => void;
  /** Members of the request's `_meta`, such as `traceparent`. */
  readonly meta?: JsonObject;
}
