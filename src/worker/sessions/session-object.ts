/**
 * The Durable Object of one session, or of several sessions that share a key, such as all sessions of a user. It forwards
 * each request to its session. One alarm deletes the expired data of all sessions.
 *
 * The stored data is described in session-state.ts and event-log.ts. When no data remains, the whole database is deleted.
 *
 * @module
 */

import type { Principal } from "../../core/protocol/client-facts.ts";
import type { PostOutcome, SessionPost } from "../../http/sessions.ts";
import type { RoleObject } from "../object.ts";
import { openSockets } from "../open-sockets.ts";
import { GONE } from "../reconnecting-socket.ts";
import type { ObjectServices } from "../services.ts";
import { ATTACH_HEADER, decodeAttach } from "./bridge-messages.ts";
import { isOwnStream } from "./event-id.ts";
import { EventLog, type StreamRow } from "./event-log.ts";
import { Session } from "./session.ts";
import type { SessionHost } from "./session-host.ts";
import { type Caller, SessionState } from "./session-state.ts";
import { readAttachment } from "./stream-sender.ts";
import { socketTag } from "./stream-sockets.ts";

/** The methods that the Worker calls. */
export interface SessionRpc {
  admit(caller: Caller): Promise<boolean>;
  /**
   * @param sent A {@link SentPost} as JSON.
   *
   * @returns The outcome. A string is a JSON response with status 200.
   */
  post(sent: string, principal: Principal | undefined): Promise<PostOutcome | string | undefined>;
  end(caller: Caller): Promise<boolean>;
}

/** A POST in the form in which it is sent to the object, encoded as JSON. */
interface SentPost {
  readonly caller: Caller;
  readonly post: SessionPost;
}

export interface SessionObjectOptions extends Pick<SessionHost, "period" | "caps" | "resumeMs"> {
  /** How long progress and log messages are kept on a stream that is still open, in milliseconds. */
  readonly progressRetentionMs: number;
}

/** The minimum number of sessions in memory at which idle sessions are removed. */
const HELD_MIN = 32;

/** An object with the role "session". It contains one session, or several that share a key. */
export class SessionObject implements RoleObject, SessionRpc {
  readonly #ctx: DurableObjectState;
  readonly #options: SessionObjectOptions;
  readonly #host: SessionHost;
  readonly #log: EventLog;
  readonly #sessions = new Map<number, Session>();
  /** Number of sessions in memory at which idle sessions are removed. It grows with their number, so that checks are rare. */
  #heldMax = HELD_MIN;
  #alarmAtMs: number | undefined;

  constructor(ctx: DurableObjectState, env: unknown, services: ObjectServices, options: SessionObjectOptions) {
    this.#ctx = ctx;
    this.#options = options;
    this.#log = new EventLog(ctx.storage.sql);
    const bornAtMs = Date.now();
    this.#host = { ctx, env, services, log: this.#log, ...options, bornAtMs, wakeAt: (atMs) => this.#wakeAt(atMs) };
  }

  // RPC

  async admit(caller: Caller): Promise<boolean> {
    return (await this.#use(caller, () => true)) ?? false;
  }

  async post(sent: string, principal: Principal | undefined): Promise<PostOutcome | string | undefined> {
    const { caller: plain, post } = JSON.parse(sent) as SentPost;
    const caller = { ...plain, principal };
    const outcome = await this.#use(caller, (session) => session.post(caller, post));
    const answer = outcome && "answer" in outcome ? outcome.answer : undefined;
    return (answer?.status === 200 ? answer.text : undefined) ?? outcome;
  }

  async end(caller: Caller): Promise<boolean> {
    return (await this.#use(caller, (session) => session.end(caller))) ?? false;
  }

  // Sockets

  /** Opens a WebSocket that carries a stream to the Worker. */
  async fetch(request: Request): Promise<Response> {
    const { caller, target } = decodeAttach(request.headers.get(ATTACH_HEADER) ?? "");
    const attached = await this.#use(caller, (session) => session.attach(caller, target), true);
    return attached ?? new Response(null, { status: 404 });
  }

  async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    this.#sessionOf(socket).received(socket, String(message));
  }

  async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    const { stream } = readAttachment(socket);
    await this.#held(this.#sessionOf(socket), (session) => session.closed(socket, code === GONE));
    // The alarm did not delete this stream while its socket was open.
    if (isOwnStream(stream) && this.#log.find(stream)) await this.#wakeAt(Date.now() + this.#options.resumeMs);
  }

  // Alarm

  async alarm(): Promise<void> {
    this.#alarmAtMs = undefined;
    const nowMs = Date.now();
    for (const number of SessionState.stored(this.#ctx.storage.kv)) {
      await this.#held(this.#session(number), (session) => session.expire(nowMs));
    }
    // While the hooks above ran, sessions may have stored data, so it is listed again. No await follows until the alarm.
    const due = SessionState.stored(this.#ctx.storage.kv).map((number) => this.#session(number).goodUntilMs);
    for (const number of SessionState.withCalls(this.#ctx.storage.kv)) {
      due.push(this.#session(number).expireQuestions(nowMs));
    }
    for (const row of this.#log.unfinished()) this.#session(row.session).interrupt(row);
    const { resumeMs, progressRetentionMs } = this.#options;
    const listReaders = ({ session, id }: StreamRow) =>
      openSockets(this.#ctx, socketTag(session, id)).map(readAttachment);
    due.push(nowMs + this.#log.collect({ nowMs, resumeMs, progressRetentionMs, readersOf: listReaders }));
    this.#letGo();
    for (const session of this.#sessions.values()) session.collected();
    const nextMs = Math.min(...due);
    if (nextMs < Infinity) await this.#wakeAt(nextMs);
    else await this.#forget();
  }

  // Internal

  async #forget(): Promise<void> {
    // deleteAll() deletes the alarm too.
    this.#alarmAtMs = undefined;
    await this.#ctx.storage.deleteAll();
    this.#log.reset();
  }

  #session(number: number): Session {
    let session = this.#sessions.get(number);
    if (!session) {
      if (this.#sessions.size >= this.#heldMax) this.#letGo();
      session = new Session(this.#host, number);
      this.#sessions.set(number, session);
    }
    return session;
  }

  /** Removes idle sessions from memory. Their stored state is read again when needed. */
  #letGo(): void {
    for (const [number, session] of this.#sessions) if (session.isIdle) this.#sessions.delete(number);
    this.#heldMax = Math.max(HELD_MIN, this.#sessions.size * 2);
  }

  /** Number of sessions in memory. For tests. */
  get sessionsHeld(): number {
    return this.#sessions.size;
  }

  /** Calls a function with a session, which stays in memory until the function has finished. */
  async #held<T>(session: Session, use: (session: Session) => Promise<T>): Promise<T> {
    session.users += 1;
    try {
      return await use(session);
    } finally {
      session.users -= 1;
    }
  }

  /** Calls a function with the caller's session. Resolves to undefined if the session has ended or has another owner. */
  #use<T>(caller: Caller, use: (session: Session) => T | Promise<T>, isStream = false): Promise<T | undefined> {
    return this.#held(this.#session(caller.session), async (session) =>
      (await session.admit(caller, isStream)) ? use(session) : undefined,
    );
  }

  #sessionOf(socket: WebSocket): Session {
    const tag = this.#ctx.getTags(socket).find((each) => each.startsWith("n"));
    return this.#session(Number(tag?.slice(1)));
  }

  /** Sets the alarm unless an earlier alarm is set, because setting it writes a row. */
  async #wakeAt(atMs: number): Promise<void> {
    // If the database was empty, there is no alarm. It is set in this turn, so that it becomes durable together with the rows.
    const isUnknown = this.#alarmAtMs === undefined && !this.#log.wasEmpty;
    const stored = isUnknown ? await this.#ctx.storage.getAlarm() : undefined;
    // Assigned after the await, because a concurrent call may have set the alarm meanwhile.
    this.#alarmAtMs ??= stored ?? Infinity;
    if (this.#alarmAtMs <= atMs) return;
    this.#alarmAtMs = atMs;
    await this.#ctx.storage.setAlarm(atMs).catch((error: unknown) => {
      // The next caller tries again.
      this.#alarmAtMs = undefined;
      throw error;
    });
  }
}
