/**
 * The interface between a session and `httpSse()`, which serves the messages of HTTP+SSE clients in their session.
 *
 * @module
 */
import type { LegacyContext } from "../../http/legacy.ts";
import type { Refusal } from "../../http/refusal.ts";
import type { PostOutcome, SessionPost } from "../../http/sessions.ts";
import type { CallStream } from "./logged-stream.ts";
import type { Caller, StoredState } from "./session-state.ts";
import type { SessionStreams } from "./session-streams.ts";

/** Serves one message. Resolves undefined when the client has no open stream. */
export type Deliver = (session: HttpSseSession, caller: Caller, post: SessionPost) => Promise<PostOutcome | undefined>;

/** The session of an HTTP+SSE client. */
export interface HttpSseSession {
  readonly streams: SessionStreams;
  /** What the client said in its handshake, which it sends after it got the session id. Undefined before. */
  readonly handshake: StoredState["handshake"];
  /** Whether notifications reach the client. */
  readonly hasNotifications: boolean;
  /** Returns whether the session is alive and belongs to the caller. */
  admit(caller: Caller): Promise<boolean>;
  /** Returns the refusal if this many more requests cannot be served now, or undefined if they can. */
  tooMany(asked: number): Refusal | undefined;
  runPost(caller: Caller, post: SessionPost, httpSse: HttpSseRun): Promise<PostOutcome>;
  store(state: StoredState, caller: Caller): Promise<void>;
  /** Sends notifications to the client from now on. Resolves when none is missed any more. */
  startNotifications(): Promise<void>;
}

/** The stream and context with which a message of an HTTP+SSE client is served: see http-sse/delivery.ts. */
export interface HttpSseRun {
  readonly stream: CallStream;
  adapt(context: LegacyContext): LegacyContext;
}
