import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Progress } from "./results.ts";

/** The options of one request. */
export interface RequestOptions {
  /** Cancels the request. The promise rejects with the reason of the signal, and the server is told. */
  readonly signal?: AbortSignal;
  /** See `timeoutMs` of the client. */
  readonly timeoutMs?: number;
  /** See `totalTimeoutMs` of the client. */
  readonly totalTimeoutMs?: number;
  /** See `resetTimeoutOnProgress` of the client. */
  readonly resetTimeoutOnProgress?: boolean;
  /** Receives the progress of the request. */
  readonly onProgress?: (progress: Progress) => void;
  /** The progress token to send. It must differ from those of all open requests. @default a unique token */
  readonly progressToken?: string | number;
  /** Whether the server is asked although a cache has the result. See `mcp-edge/client`. @default false */
  readonly fresh?: boolean;
  /**
   * A key by which the server recognises a call that is repeated, so that it runs once: at most 256 visible ASCII characters that
   * nobody can guess, one for each payment, order or the like. Store it before the call, and pass the same key when you call again.
   * A server that knows keys declares `mcp-edge/idempotencyKey`; others ignore them.
   *
   * @default a random key for each call, if the server knows keys and the tool does not say that it changes nothing
   */
  readonly idempotencyKey?: string;
  /**
   * Receives a token with which `client.resume()` continues to wait for the answer, also in another process, each time that the
   * server has sent something. Store the last one, as a secret. Called in versions up to 2025-11-25 over Streamable HTTP, if the
   * server stores its events.
   */
  readonly onResumeToken?: (token: string) => void;
  /** Members of the request's `_meta`, such as `traceparent`. */
  readonly meta?: JsonObject;
}
