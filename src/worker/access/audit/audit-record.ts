import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";

/**
 * The record of one call, or of one refused request. It does not contain the token, nor by default the arguments and the
 * result. A string has at most 512 characters; a longer one is cut off and ends with "...".
 */
export interface AuditRecord {
  /** `call`: the request reached its method. `refusal`: it did not. */
  readonly kind: "call" | "refusal";
  /** When the call or the refusal ended, as an ISO 8601 timestamp. */
  readonly at: string;
  /** How it ended. */
  readonly outcome: "ok" | "error" | "cancelled" | "refused";
  /** The duration in milliseconds. The clock of a Worker does not advance while it computes. */
  readonly durationMs: number;
  /** The issuer of the principal. Absent for anonymous calls, and for requests that were refused before authentication. */
  readonly issuer?: string;
  /** The subject of the principal. */
  readonly subject?: string;
  /** The OAuth client. */
  readonly clientId?: string;
  /** The name and version that the client reports. */
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
  /** The code of the JSON-RPC error in the response. */
  readonly errorCode?: number;
  /** The HTTP status of a refusal. */
  readonly status?: number;
  /** The reason of a refusal, such as `unauthorized`, `origin-not-allowed`, `session-unknown` or `too-many`. */
  readonly reason?: string;
  /** The IP address that a refused request came from. */
  readonly ip?: string;
  /** The length of the arguments as JSON, in characters, or the `Content-Length` of a refused request, in bytes. */
  readonly requestSize?: number;
  /** The length of the result as JSON, in characters. */
  readonly resultSize?: number;
  /** The arguments, if `contents` is set. */
  readonly arguments?: unknown;
  /** The result, if `contents` is set. */
  readonly result?: JsonObject;
}
