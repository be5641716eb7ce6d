/**
 * What an extension of the client can do, and how several of them are applied one around the other.
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

/** What an extension does. Each member is optional. */
export interface ExtensionHooks {
  /**
   * Capabilities to declare in addition, for all versions or by era. Objects such as `extensions` and `experimental` are merged
   * with those of the options and of other extensions.
   */
  readonly capabilities?: ClientCapabilities | ((era: Era) => ClientCapabilities);
  /**
   * Values of `resultType` that `onRequest` handles. Other results than `complete` and `input_required` are refused. With
   * `input_required`, the client answers no questions of a modern server, but returns the result that asks them: for a proxy,
   * which passes them on and sends the answers with another request.
   */
  readonly resultTypes?: readonly string[];
  /** The lists whose changes `onNotification` needs. The client opens the stream that they need. */
  readonly changes?: readonly ("tools" | "prompts" | "resources")[];
  /** Members of the filter with which the client listens to a modern server. See `listen` of {@link ExtensionContext}. */
  filter?(): JsonObject;
  /**
   * Wraps each request that a method of the client sends. It may change the request, refuse it by throwing, answer it
   * itself, or read and change the result. Repetition, new sessions and rounds of questions happen within `next`, and
   * the time limits apply to each `next`.
   */
  onRequest?(request: OutgoingRequest, next: Next<OutgoingRequest>): Promise<JsonObject>;
  /**
   * Wraps each answer to a question of the server. It may change the question, refuse it by throwing an `McpError`, answer
   * it itself, or read and change the answer. The time limits of the call stand still meanwhile.
   */
  onQuestion?(request: IncomingRequest, next: Next<IncomingRequest>): Promise<JsonObject>;
  /**
   * Receives each notification of the server, before the handlers of the options: except cancellation, and progress of an open
   * request. After a gap, those that may have been missed are repeated.
   */
  onNotification?(method: string, params: JsonObject): void;
  /** Receives each event that the client reports, before `onEvent` of the options. What it throws is ignored. */
  onEvent?(event: ClientEvent): void;
}

/** What an extension gets from the client that it extends. */
export interface ExtensionContext {
  /** The client. It is connected when `onRequest` is called, but not yet when the extension is created. */
  readonly client: Client;
  /** Answers a question with the handlers of the options, as if the server had asked it. */
  answer(method: string, params: JsonObject, context: QuestionContext): Promise<JsonObject>;
  /** Whether the server has opened a session, which only legacy servers over Streamable HTTP do. */
  hasSession(): boolean;
  /** Reports an event to `onEvent`. */
  readonly report: EventHook;
  /** Listens to a modern server with the present filters, and resolves with what the server has agreed to report. */
  listen(): Promise<JsonObject>;
  /** Aborts when the client closes. */
  readonly signal: AbortSignal;
  /** See `totalTimeoutMs` of the client. */
  readonly totalTimeoutMs: number;
}

/** Extends a client. Called once for each `connect`, so that clients share no state unless the author wants it. */
export type ClientExtension = (context: ExtensionContext) => ExtensionHooks;

/** The hooks that wrap a request, with what they wrap. */
interface Wraps {
  readonly onRequest: OutgoingRequest;
  readonly onQuestion: IncomingRequest;
}

/** Returns `last` inside the hooks of all extensions. The first extension is the outermost. */
export function wrap<N extends keyof Wraps>(
  extensions: readonly ExtensionHooks[],
  name: N,
  last: Next<Wraps[N]>,
): Next<Wraps[N]> {
  return (
    extensions as readonly { [M in N]?: (request: Wraps[M], next: Next<Wraps[M]>) => Promise<JsonObject> }[]
  ).reduceRight((next, each) => async (request) => (each[name] ? each[name](request, next) : next(request)), last);
}
