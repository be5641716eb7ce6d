/**
 * The Durable Object that sessions live in: one each, or those of a user or a team together. It passes each request on
 * to its session, and keeps the one alarm, which collects what is old.
 *
 * What is stored: see session-state.ts and event-log.ts. When nothing is left, nothing is: the database goes as well.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import type { Principal } from "../../core/protocol/client-facts.ts";
import type { PostOutcome, SessionPost } from "../../http/sessions.ts";
import { checkBinding, misdirected } from "../bindings.ts";
import type { EdgeRuntime } from "../edge.ts";
import { GONE } from "../reconnecting-socket.ts";
import { ATTACH_HEADER, decodeAttach, SESSION_URL } from "./bridge-messages.ts";
import { isOwnStream } from "./event-id.ts";
import { EventLog, type StreamRow } from "./event-log.ts";
import { Session, type SessionHost } from "./session.ts";
import { type Caller, SessionState } from "./session-state.ts";
import { socketTag } from "./session-streams.ts";
import type { Attached } from "./stream-socket.ts";

/** The methods the Worker calls. */
export interface SessionRpc {
  admit(caller: Caller): Promise<boolean>;
  /** @param wire The caller, without its principal, and the post; see {@link Wire}. @returns A text is a JSON answer with status 200. */
  post(wire: string, principal: Principal | undefined): Promise<PostOutcome | string | undefined>;
  end(caller: Caller): Promise<boolean>;
}

/** What a POST is on its way to the object, as JSON. */
interface Wire {
  readonly caller: Caller;
  readonly post: SessionPost;
}

export interface SessionObjectOptions extends Pick<SessionHost<unknown>, "period" | "caps" | "resumeMs"> {
  /** Milliseconds that news are kept for on a stream that goes on. */
  readonly newsMs: number;
  /** Name of the binding of the endpoint whose class this is. */
  readonly binding: string;
}

/** How soon what an open stream has left is looked at again, should nobody tell of its end. */
const LATER_MS = 24 * 60 * 60_000;

/** The object class, less what it serves; `durable()` makes the class to export. */
export class SessionObject<Env> extends DurableObject<Env> implements SessionRpc {
  readonly #options: SessionObjectOptions;
  readonly #host: SessionHost<Env>;
  readonly #log: EventLog;
  readonly #sessions = new Map<number, Session<Env>>();
  #alarmAtMs: number | undefined;

  constructor(ctx: DurableObjectState, env: Env, runtime: EdgeRuntime<Env>, options: SessionObjectOptions) {
    super(ctx, env);
    this.#options = options;
    this.#log = new EventLog(ctx.storage.sql);
    const bornAtMs = Date.now();
    this.#host = { ctx, env, runtime, log: this.#log, ...options, bornAtMs, wakeAt: (atMs) => this.#wakeAt(atMs) };
  }

  // RPC

  async admit(caller: Caller): Promise<boolean> {
    return (await this.#admitted(caller)) !== undefined;
  }

  async post(wire: string, principal: Principal | undefined): Promise<PostOutcome | string | undefined> {
    const { caller: plain, post } = JSON.parse(wire) as Wire;
    const caller = { ...plain, principal };
    const outcome = await (await this.#admitted(caller))?.post(caller, post);
    const answer = outcome && "answer" in outcome ? outcome.answer : undefined;
    return (answer?.status === 200 ? answer.text : undefined) ?? outcome;
  }

  async end(caller: Caller): Promise<boolean> {
    const session = await this.#admitted(caller);
    await session?.end(caller);
    return session !== undefined;
  }

  // Sockets

  /** The Worker asks for a socket that carries a stream. */
  override async fetch(request: Request): Promise<Response> {
    const refusal = misdirected(request, SESSION_URL);
    if (refusal) return refusal;
    const { caller, target } = decodeAttach(request.headers.get(ATTACH_HEADER) ?? "");
    const session = await this.#admitted(caller, true);
    return session?.attach(caller, target) ?? new Response(null, { status: 404 });
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    this.#sessionOf(socket).heard(socket, String(message));
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    const { stream } = socket.deserializeAttachment() as Attached;
    await this.#sessionOf(socket).left(socket, code === GONE);
    // While it was open the alarm left it alone.
    if (isOwnStream(stream) && this.#log.find(stream)) await this.#wakeAt(Date.now() + this.#options.resumeMs);
  }

  // Time

  override async alarm(): Promise<void> {
    this.#alarmAtMs = undefined;
    const nowMs = Date.now();
    const due: number[] = [];
    for (const number of SessionState.stored(this.ctx.storage.kv)) {
      due.push((await this.#session(number).expire(nowMs)) ?? Number.POSITIVE_INFINITY);
    }
    for (const number of SessionState.withCalls(this.ctx.storage.kv)) {
      due.push(this.#session(number).expireQuestions(nowMs));
    }
    for (const row of this.#log.unfinished()) this.#session(row.session).interrupt(row);
    const { resumeMs, newsMs } = this.#options;
    const isOpen = ({ session, id }: StreamRow) => this.ctx.getWebSockets(socketTag(session, id)).some(isOpenSocket);
    const left = this.#log.collect({ nowMs, resumeMs, newsMs, isOpen });
    for (const session of this.#sessions.values()) session.collected();
    if (left !== "nothing") due.push(nowMs + (left === "some" ? resumeMs : LATER_MS));
    const nextMs = Math.min(...due);
    if (Number.isFinite(nextMs)) await this.#wakeAt(nextMs);
    else await this.#forget();
  }

  // Within

  async #forget(): Promise<void> {
    await this.ctx.storage.deleteAll();
    this.#log.reset();
  }

  /** A Worker from before objects could be shared names none. */
  #session(number = 0): Session<Env> {
    let session = this.#sessions.get(number);
    if (!session) {
      session = new Session(this.#host, number);
      this.#sessions.set(number, session);
    }
    return session;
  }

  /**
   * The session of a caller, while it lives and is the caller's.
   *
   * @throws {KitError} `binding-crossed` when the call is meant for another endpoint.
   */
  async #admitted(caller: Caller, isStream = false): Promise<Session<Env> | undefined> {
    checkBinding(this.#options.binding, caller.binding);
    const session = this.#session(caller.session);
    return (await session.admit(caller, isStream)) ? session : undefined;
  }

  #sessionOf(socket: WebSocket): Session<Env> {
    const tag = this.ctx.getTags(socket).find((each) => each.startsWith("n"));
    return this.#session(Number(tag?.slice(1)));
  }

  /** One alarm, at the earliest time anything is due. Each setting is a row, so a later time does not move it. */
  async #wakeAt(atMs: number): Promise<void> {
    const stored = this.#alarmAtMs === undefined ? await this.ctx.storage.getAlarm() : undefined;
    // Only now: another may have set one while this looked.
    this.#alarmAtMs ??= stored ?? Number.POSITIVE_INFINITY;
    if (this.#alarmAtMs <= atMs) return;
    this.#alarmAtMs = atMs;
    await this.ctx.storage.setAlarm(atMs);
  }
}

function isOpenSocket({ readyState }: WebSocket): boolean {
  return readyState === WebSocket.OPEN;
}
