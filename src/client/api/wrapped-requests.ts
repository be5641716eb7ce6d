import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { QuestionContext } from "./questions.ts";

/** A request of the client, before the protocol's own members of `_meta` are added. */
export interface OutgoingRequest {
  /** The method, such as `tools/call`. */
  readonly method: string;
  /** The params; undefined if there are none. */
  readonly params: JsonObject | undefined;
  /** The options that the caller passed. */
  readonly options: RequestOptions;
}

/** A request of the server: a question, in both eras. */
export interface IncomingRequest {
  /** The method, such as `sampling/createMessage`. */
  readonly method: string;
  /** The params, as the server sent them. */
  readonly params: JsonObject;
  /** The context that the handler receives. */
  readonly context: QuestionContext;
}

/** Passes a request on, changed or not, and resolves with its result. May be called several times, or not at all. */
export type Next<R> = (request: R) => Promise<JsonObject>;
