import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { QuestionContext } from "./questions.ts";

/** A request of the client, before the members of `_meta` that the protocol defines are added. */
export interface OutgoingRequest {
  /** The method, such as `tools/call`. */
  readonly method: string;
  /** The params; undefined if there are none. */
  readonly params: JsonObject | undefined;
  /** The options that the caller passed. */
  readonly options: RequestOptions;
}

/** A question of the server: a request in the legacy era, and an entry of `inputRequests` in the modern era. */
export interface IncomingRequest {
  /** The method, such as `sampling/createMessage`. */
  readonly method: string;
  /** The params, as the server sent them. */
  readonly params: JsonObject;
  /** The context that the handler receives. */
  readonly context: QuestionContext;
}

/** Passes a request on, changed or unchanged, and resolves with its result. May be called any number of times. */
export type Next<R> = (request: R) => Promise<JsonObject>;
