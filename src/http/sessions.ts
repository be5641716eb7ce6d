/**
 * What the HTTP room needs of legacy sessions. The Workers room implements it on Durable Objects; another runtime may
 * implement it on whatever it has.
 *
 * @module
 */
import type { ClientFacts, Principal } from "../core/client-facts.ts";
import type { ParsedMessage } from "../core/jsonrpc.ts";
import type { AcceptedForm } from "./headers.ts";

/** Opens and finds legacy sessions. */
export interface SessionGate<Env> {
  /**
   * A new session id, at most 128 visible ASCII characters, unguessable. Stores nothing.
   *
   * @throws {SessionsUnavailable} when there is no key to seal with.
   */
  open(client: ClientFacts, principal: Principal | undefined, env: Env): Promise<string>;

  /**
   * The session of an id, or undefined when the id was not made here, has expired, or belongs to another principal.
   * Wakes no object: a session that was ended is found, and says so when used.
   *
   * @throws {SessionsUnavailable} when no key can be had, so that nothing can be said about the id.
   */
  find(id: string, principal: Principal | undefined, env: Env): Promise<FoundSession | undefined>;
}

/** What a POST to a session carries. */
export interface SessionPost {
  /** Plain data, so it may cross to an object. Only members of a batch may be invalid ones. */
  readonly messages: readonly ParsedMessage[];
  readonly isBatch: boolean;
  readonly form: AcceptedForm;
}

/** One session. Each method resolves undefined or false when the session has ended. */
export interface FoundSession {
  readonly client: ClientFacts;
  /** Whether the session is alive, for requests whose answer needs no handler. */
  admit(): Promise<boolean>;
  /** Serves messages in the session. */
  post(post: SessionPost): Promise<Response | undefined>;
  /** Ends the session for ever: its id is answered 404 from now on, also after a crash. */
  end(): Promise<boolean>;
}

/** Why nothing can be said about a session now: answered 503, never 404, since 404 tells the client it is gone. */
export class SessionsUnavailable extends Error {
  override readonly name = "SessionsUnavailable";
}
