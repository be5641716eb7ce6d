/**
 * The interface of extensions of the client, and the function that nests their hooks.
 *
 * @module
 */
import type { ClientCapabilities } from "../../core/protocol/client-capabilities.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Era } from "../../core/protocol/versions.ts";
import type { ClientEvent, EventHook } from "../basics/events.ts";
import type { Client } from "./client.ts";
import type { QuestionContext } from "./questions.ts";
import type { IncomingRequest, Next, OutgoingRequest } from "./wrapped-requests.ts";

/** The hooks of an extension. Each member is optional. */
export interface ExtensionHooks {
  /**
   * Additional capabilities to declare, for all versions or for each era. Members such as `extensions` and `experimental` are merged
   * with the same members of the options and of other extensions.
   */
  readonly capabilities?: ClientCapabilities | ((era: Era) => ClientCapabilities);
  /**
   * Values of `resultType` that `onRequest` handles. Results of all other types are refused, except `complete` and `input_required`.
   * If `input_required` is listed, the client does not answer the questions of a modern server, but returns the result that contains
   * them. This is for a proxy, which passes the questions on and sends the answers with another request.
   */
  readonly resultTypes?: readonly string[];
  /** The lists whose changes `onNotification` needs. The client opens the stream that brings them. */
  readonly changes?: readonly ("tools" | "prompts" | "resources")[];
  /** Returns members to add to the filter of `subscriptions/listen`. See `listen` of {@link ExtensionContext}. */
  filter?(): JsonObject;
  /**
   * Wraps each request that a method of the client sends. The hook may change the request, refuse it by throwing, return a result
   * without sending it, or read and change the result. Repetition, new sessions and rounds of questions happen within `next`, and the
   * time limits apply to each `next`.
   */
  onRequest?(request: OutgoingRequest, next: Next<OutgoingRequest>): Promise<JsonObject>;
  /**
   * Wraps each answer to a question of the server. The hook may change the question, refuse it by throwing an `McpError`, answer it
   * itself, or read and change the answer. Meanwhile `timeoutMs` of the request is paused.
   */
  onQuestion?(request: IncomingRequest, next: Next<IncomingRequest>): Promise<JsonObject>;
  /**
   * Receives each notification of the server before the handlers of the options do, except cancellations and the progress of open
   * requests. After a gap in the stream, notifications that may have been missed are repeated.
   */
  onNotification?(method: string, params: JsonObject): void;
  /** Receives each event of the client before `onEvent` of the options does. Errors that it throws are ignored. */
  onEvent?(event: ClientEvent): void;
}

/** The context that an extension receives from its client. */
export interface ExtensionContext {
  /** The client. It is not connected yet when the extension is created, but it is when `onRequest` is called. */
  readonly client: Client;
  /** Answers a question with the handlers of the options, as if the server had asked it. */
  answer(method: string, params: JsonObject, context: QuestionContext): Promise<JsonObject>;
  /** Whether the server has opened a session. Only legacy servers over Streamable HTTP do. */
  hasSession(): boolean;
  /** Reports an event to `onEvent`. */
  readonly report: EventHook;
  /** Sends `subscriptions/listen` with the current filters. Resolves with the filter that the server has accepted. */
  listen(): Promise<JsonObject>;
  /** Aborts when the client closes. */
  readonly signal: AbortSignal;
  /** See `totalTimeoutMs` of the client. */
  readonly totalTimeoutMs: number;
}

/** Extends a client. Called once for each `connect()`, so that clients do not share the state of the extension by accident. */
export type ClientExtension = (context: ExtensionContext) => ExtensionHooks;

/** The hooks that wrap a request, each with the type of the request. */
interface WrappedRequests {
  readonly onRequest: OutgoingRequest;
  readonly onQuestion: IncomingRequest;
}

/** Returns `last` wrapped in the hooks of all extensions. The first extension is the outermost. */
export function wrap<N extends keyof WrappedRequests>(
  extensions: readonly ExtensionHooks[],
  name: N,
  last: Next<WrappedRequests[N]>,
): Next<WrappedRequests[N]> {
  return (
    extensions as readonly {
      [M in N]?: (request: WrappedRequests[M], next: Next<WrappedRequests[M]>) => Promise<JsonObject>;
    }[]
  ).reduceRight((next, each) => async (request) => (each[name] ? each[name](request, next) : next(request)), last);
}
