import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";

/**
 * The record of one call, or of one request that was refused. It contains no token, and no contents by default. A text has
 * at most 512 characters; a longer one is cut and ends with "...".
 */
export interface AuditRecord {
  /** `call`: the request reached its method. `refusal`: it did not. */
  readonly kind: "call" | "refusal";
  /** The time at which it ended, as an ISO 8601 timestamp. */
  readonly at: string;
  /** How it ended. */
  readonly outcome: "ok" | "error" | "cancelled" | "refused";
  /** Milliseconds from its beginning to its end. The clock of a Worker stands still while it computes. */
  readonly durationMs: number;
  /**
   * The issuer of the principal. Absent for anonymous calls, and for refusals of requests before they were authenticated.
   */
  readonly issuer?: string;
  /** The subject of the principal. */
  readonly subject?: string;
  /** The OAuth client. */
  readonly clientId?: string;
  /** The client's name and version, as it states them. */
  readonly client?: string;
  /**
   * The method. For a refused batch, the different methods of its messages, separated by commas. Absent if the request was
   * refused before its body was read.
   */
  readonly method?: string;
  /** The tool that was called. Absent for a refused batch, like `prompt` and `uri`. */
  readonly tool?: string;
  /** The prompt that was requested. */
  readonly prompt?: string;
  /** The resource that was read. */
  readonly uri?: string;
  /** The task whose handler ran or has ended. */
  readonly taskId?: string;
  /** The code of the JSON-RPC error that the client got. */
  readonly errorCode?: number;
  /** The HTTP status of a refusal. */
  readonly status?: number;
  /** The reason of a refusal, such as `unauthorized`, `origin-not-allowed`, `session-unknown` or `too-many`. */
  readonly reason?: string;
  /** The IP address that a refused request came from. */
  readonly ip?: string;
  /** Characters of the arguments as JSON, or bytes of a refused request. */
  readonly requestSize?: number;
  /** Characters of the result as JSON. */
  readonly resultSize?: number;
  /** The arguments, if `contents` is set. */
  readonly arguments?: unknown;
  /** The result, if `contents` is set. */
  readonly result?: JsonObject;
}
