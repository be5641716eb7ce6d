/**
 * What the HTTP room needs of legacy sessions. The Workers room implements it on Durable Objects; another runtime may
 * implement it on whatever it has.
 *
 * @module
 */
import type { ClientFacts, Principal } from "../core/protocol/client-facts.ts";
import type { ParsedMessage } from "../core/protocol/jsonrpc.ts";
import type { ListKind, NoticeSource } from "../core/protocol/notices.ts";
import type { EventStream } from "./event-stream.ts";
import type { AcceptedForm } from "./headers.ts";
import type { Refusal } from "./refusal.ts";
import type { Outcome } from "./respond.ts";

/** What a session belongs to. */
export interface SessionPlace<Env> {
  readonly env: Env;
  readonly principal: Principal | undefined;
  /** Name of the endpoint. */
  readonly endpoint: string;
}

/** Opens and finds legacy sessions. */
export interface SessionGate<Env> {
  /**
   * A new session id, at most 256 visible ASCII characters, unguessable. Stores nothing.
   *
   * @throws {SessionsUnavailable} when there is no key to seal with.
   */
  open(client: ClientFacts, place: SessionPlace<Env>): Promise<string>;

  /**
   * The session of an id, or undefined when the id was not made here, or belongs to another endpoint or principal.
   * Wakes no object: a session that was ended is found, and says so when used.
   *
   * @throws {SessionsUnavailable} when no key can be had, so that nothing can be said about the id.
   */
  find(id: string, place: SessionPlace<Env>): Promise<FoundSession | undefined>;
}

/** What a request says of itself beside its body, as plain data. */
export interface PlainRequest {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** What a POST to a session carries. */
export interface SessionPost {
  /** Plain data, so it may cross to an object. Only members of a batch may be invalid ones. */
  readonly messages: readonly ParsedMessage[];
  readonly isBatch: boolean;
  /** "own": of an HTTP+SSE client, which is answered on the one stream of its session. */
  readonly form: AcceptedForm | "own";
  readonly request: PlainRequest | undefined;
}

/** Which stream of a session a response is to carry. */
export type StreamTarget =
  /** That of a call, from its beginning. */
  | { readonly kind: "call"; readonly stream: number }
  /** One of the session's own, for what belongs to no call. */
  | {
      readonly kind: "standalone";
      /** The client speaks HTTP+SSE: it has no event ids, and cannot come back to the stream. */
      readonly isHttpSse?: boolean;
    }
  /** The one an event id names, from after that event. */
  | { readonly kind: "resume"; readonly lastEventId: string };

/** How a POST is answered: at once, by a stream that has begun, or not at all. */
export type PostOutcome = { readonly answer: Outcome } | { readonly stream: number } | { readonly refusal: Refusal };

/** Where a session's own streams hear of changes. */
export interface SessionNotices {
  readonly source: NoticeSource;
  /** The lists that the server has. */
  readonly lists: readonly ListKind[];
}

/** One session. Each method resolves undefined or false when the session has ended. */
export interface FoundSession {
  readonly client: ClientFacts;
  /** Whether the session is alive, for requests whose answer needs no handler. */
  admit(): Promise<boolean>;
  /** Serves messages in the session. With the form "own" it resolves undefined too when the client has no stream open. */
  post(post: SessionPost): Promise<PostOutcome | undefined>;
  /**
   * Sends a stream of the session to a client, until either ends. Resolves when it has begun, or with why it cannot.
   *
   * @param notices Where a standalone stream hears of changes; undefined: it does not.
   */
  streamTo(target: StreamTarget, to: EventStream, notices: SessionNotices | undefined): Promise<Refusal | undefined>;
  /** Ends the session for ever: its id is answered 404 from now on, also after a crash. */
  end(): Promise<boolean>;
}

/** Why nothing can be said about a session now: answered 503, never 404, since 404 tells the client it is gone. */
export class SessionsUnavailable extends Error {
  override readonly name = "SessionsUnavailable";
}
