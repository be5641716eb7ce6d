/**
 * The interface through which the HTTP endpoint uses legacy sessions. `src/worker` implements it with Durable Objects;
 * any other runtime can implement it with its own storage.
 *
 * @module
 */

import type { ChangeSource, ListKind } from "../core/protocol/change-notifications.ts";
import type { ClientFacts, Principal } from "../core/protocol/client-facts.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { ParsedMessage } from "../core/protocol/jsonrpc.ts";
import type { EventStream } from "./event-stream.ts";
import type { AcceptedForm } from "./headers.ts";
import type { Refusal } from "./refusal.ts";
import type { Outcome } from "./respond.ts";

/** The owner of a session (its environment, principal and endpoint), and the request that uses the session. */
export interface SessionContext {
  readonly env: unknown;
  readonly principal: Principal | undefined;
  /** The name of the endpoint. */
  readonly endpoint: string;
  readonly request?: Request;
  /** Keeps background work running. */
  readonly execution?: Execution;
}

/** Opens and finds legacy sessions. */
export interface SessionGateway {
  /**
   * Returns a new, unguessable session id of at most 256 visible ASCII characters. Stores nothing.
   *
   * @throws {SessionsUnavailable} if no sealing key is available.
   */
  create(client: ClientFacts, context: SessionContext): Promise<string>;

  /**
   * Returns the session of an id, or undefined when the id is not genuine or belongs to another endpoint or principal.
   * Calls no object, so a session that has ended is returned as well, and its methods report the end.
   *
   * @throws {SessionsUnavailable} if no sealing key is available, so that the id cannot be checked.
   */
  find(id: string, context: SessionContext): Promise<FoundSession | undefined>;
}

/** The URL and headers of a request, as plain data. */
export interface PlainRequest {
  /** The complete URL. */
  readonly url: string;
  /** The headers in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The content of a POST to a session. */
export interface SessionPost {
  /** Plain data, so that it can be sent to an object. Only members of a batch can be invalid. */
  readonly messages: readonly ParsedMessage[];
  readonly isBatch: boolean;
  /** "own" means that the client uses HTTP+SSE, whose responses are sent on the only stream of the session. */
  readonly form: AcceptedForm | "own";
  readonly request: PlainRequest | undefined;
}

/** The stream of a session that a response will carry. */
export type StreamTarget =
  /** The stream of a call, from its beginning. */
  | { readonly kind: "call"; readonly stream: number }
  /** A standalone stream, for messages that belong to no call. */
  | {
      readonly kind: "standalone";
      /** Whether the client uses HTTP+SSE. Its stream has no event ids and cannot be resumed. */
      readonly isHttpSse?: boolean;
    }
  /** The stream of an event id, from the event after it. */
  | { readonly kind: "resume"; readonly lastEventId: string };

/** The result of a POST: a JSON response, a stream that has begun, or a refusal. */
export type PostOutcome = { readonly answer: Outcome } | { readonly stream: number } | { readonly refusal: Refusal };

/** The notifications for the standalone streams of a session. */
export interface SessionNotifications {
  readonly source: ChangeSource;
  /** The lists that the server has. */
  readonly lists: readonly ListKind[];
}

/** One session. Each method resolves undefined or false when the session has ended. */
export interface FoundSession {
  readonly client: ClientFacts;
  /** Whether it was opened less than a minute ago, so that its use by this principal need not be recorded. */
  readonly isNew: boolean;
  /** Returns whether the session is alive, for requests that need no handler. */
  admit(): Promise<boolean>;
  /**
   * Serves messages in the session. With the form "own" it also resolves undefined when the client has no open stream.
   */
  post(post: SessionPost): Promise<PostOutcome | undefined>;
  /**
   * Sends a stream of the session to a client until either of them ends. Resolves when the stream has begun, or with
   * the refusal.
   *
   * @param notifications The notifications to send on a standalone stream, if there are any.
   */
  streamTo(
    target: StreamTarget,
    to: EventStream,
    notifications: SessionNotifications | undefined,
  ): Promise<Refusal | undefined>;
  /** Ends the session permanently. From now on, requests with its id get 404, even after a crash. */
  end(): Promise<boolean>;
}

/**
 * Thrown when sessions cannot be checked at the moment. The response is 503; a 404 would mean that the session has
 * ended.
 */
export class SessionsUnavailable extends Error {
  override readonly name = "SessionsUnavailable";
}
