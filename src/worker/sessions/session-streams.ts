/**
 * The streams of one session, in its object: which are being written, which sockets carry them, and what a client that
 * comes back is given.
 *
 * @module
 */
import { ErrorCode, encodeError, type RequestId } from "../../core/jsonrpc.ts";
import type { NoticeFilter } from "../../core/notices.ts";
import type { VersionRules } from "../../core/versions.ts";
import { encodeEvent, encodePriming } from "../../http/sse.ts";
import { OVER, SUPERSEDED } from "../link.ts";
import { type Attach, encodeBridge } from "./bridge-messages.ts";
import { type Cursor, decodeCursor, encodeCursor, isOwnStream, sessionTag } from "./event-id.ts";
import { EventLog, type EventRow } from "./event-log.ts";
import { LoggedStream } from "./logged-stream.ts";

/** GET streams one session may have open. One more takes the place of the oldest, whose client may be long gone. */
const OWN_MAX = 4;
/** Milliseconds a Worker has to say that a filter holds; the answer that waits for it then goes out all the same. */
const FILTER_WAIT_MS = 2_000;

export class SessionStreams {
  readonly #ctx: DurableObjectState;
  readonly #tag: string;
  readonly #log: EventLog;
  readonly #onBegin: () => void;
  /** Streams of calls that run in this life of the object. */
  readonly #running = new Map<number, LoggedStream>();
  readonly #owned = new Map<number, LoggedStream>();
  readonly #waiting = new Map<string, () => void>();
  #order = 0;

  /** @param onBegin Called when something is stored. */
  constructor(ctx: DurableObjectState, onBegin: () => void) {
    this.#ctx = ctx;
    this.#tag = sessionTag(ctx.id.toString());
    this.#log = new EventLog(ctx.storage.sql);
    this.#onBegin = onBegin;
  }

  /** A stream for a call about to run. Nothing is stored before it begins. */
  forCall(requests: readonly RequestId[]): LoggedStream {
    const stream = this.#make(this.#log.nextStream("call"), JSON.stringify(requests));
    this.#running.set(stream.id, stream);
    return stream;
  }

  /** The call has ended, and what it said is in the log. */
  settle(stream: LoggedStream): void {
    this.#running.delete(stream.id);
  }

  /** Whether a GET stream is open. */
  get hasOwn(): boolean {
    return this.#ownSockets().length > 0;
  }

  /** Says something that belongs to no call, on one GET stream: the latest. Dropped when none is open. */
  say(text: string): void {
    const socket = this.#speaker();
    if (socket) this.#own(placeOf(socket).stream).write(text);
  }

  /** Tells the Worker that holds the latest GET stream what the session wants to hear of; resolves when it does. */
  async tell(filter: NoticeFilter): Promise<void> {
    const socket = this.#speaker();
    if (socket) await this.#tellOne(socket, filter);
  }

  /** A Worker let go of a stream. When it was the one that told of notices, another does. */
  async left(socket: WebSocket, filter: NoticeFilter): Promise<void> {
    const { stream, order } = placeOf(socket);
    if (this.#ctx.getWebSockets(`s${stream}`).every((other) => other === socket)) this.#owned.delete(stream);
    const speaker = isOwnStream(stream) ? this.#speaker(socket) : undefined;
    if (speaker && placeOf(speaker).order < order) await this.#tellOne(speaker, filter);
  }

  /** A Worker said that a filter holds. */
  heard(message: string): void {
    this.#waiting.get(message)?.();
  }

  /** Gives a Worker the socket it asked for; 400 and 405 as the client is to be told, 404 for a stream that never was. */
  attach(target: Attach["target"], rules: VersionRules, filter: NoticeFilter): Response {
    const from = this.#place(target);
    if (!from) return new Response(null, { status: 400 });
    const isOwn = isOwnStream(from.stream);
    const rows = isOwn || this.#isHeld(from) ? this.#log.read(from.stream, from.seq) : undefined;
    if (!rows) return new Response(null, { status: 405 });
    const { 0: theirs, 1: ours } = new WebSocketPair();
    this.#accept(ours, from.stream, isOwn);
    const frames = rules.primingEvent ? encodePriming(encodeCursor(this.#tag, from)) : "";
    ours.send(encodeBridge({ kind: "hello", ...from, waits: isOwn, frames }));
    for (const row of rows) ours.send(this.#replay(row, from));
    const running = this.#running.get(from.stream);
    if (running?.retryMs !== undefined && target.kind === "call") {
      ours.send(encodeBridge({ kind: "retry", retryMs: running.retryMs }));
    }
    if (isOwn) void this.#takeOver(ours, filter);
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** Ends every GET stream: the session is over. */
  end(): void {
    for (const socket of this.#ownSockets()) socket.close(OVER);
  }

  /** Forgets what was said before; true when something is left. Calls that died with a former life get their outcome. */
  collect(beforeMs: number): boolean {
    for (const { id } of this.#log.unfinished()) this.#interrupt(id);
    return this.#log.collect(beforeMs);
  }

  /** Everything stored was deleted. */
  reset(): void {
    this.#log.reset();
  }

  #make(id: number, requests: string | null): LoggedStream {
    const send = (message: string) => {
      for (const socket of this.#ctx.getWebSockets(`s${id}`)) socket.send(message);
    };
    return new LoggedStream({ id, requests, send, tag: this.#tag, log: this.#log, onBegin: this.#onBegin });
  }

  /** The writer of a GET stream. In a new life of the object it goes on where the log ends. */
  #own(id: number): LoggedStream {
    let stream = this.#owned.get(id);
    if (!stream) {
      stream = this.#make(id, null);
      this.#owned.set(id, stream);
    }
    return stream;
  }

  /**
   * A new GET stream tells of notices from now on, and the others no more: each message goes to exactly one. In this
   * order nothing is lost between them.
   */
  async #takeOver(socket: WebSocket, filter: NoticeFilter): Promise<void> {
    const others = this.#ownSockets().filter((other) => other !== socket);
    await this.#tellOne(socket, filter);
    await Promise.all(others.map((other) => this.#tellOne(other, { lists: [], uris: [] })));
    socket.send(encodeBridge({ kind: "begun" }));
  }

  /** The socket of the latest GET stream. */
  #speaker(except?: WebSocket): WebSocket | undefined {
    const sockets = this.#ownSockets().filter((socket) => socket !== except);
    return sockets.sort((a, b) => placeOf(a).order - placeOf(b).order).at(-1);
  }

  #ownSockets(): WebSocket[] {
    return this.#ctx.getWebSockets("own").filter((socket) => socket.readyState === WebSocket.OPEN);
  }

  /** The place a target names; undefined for an event id that is none of this session. */
  #place(target: Attach["target"]): Cursor | undefined {
    switch (target.kind) {
      case "call":
        return { stream: target.stream, seq: 0 };
      case "again":
        return { stream: target.stream, seq: target.after };
      case "standalone":
        return { stream: this.#log.nextStream("own"), seq: 0 };
      case "resume":
        return decodeCursor(this.#tag, target.lastEventId);
    }
  }

  /** Whether anything can still come on the stream of a call after a place in it. */
  #isHeld({ stream, seq }: Cursor): boolean {
    if (this.#running.has(stream)) return true;
    if (!this.#log.find(stream)) return false;
    if (!this.#log.last(stream).isFinal) this.#interrupt(stream);
    return this.#log.last(stream).seq > seq;
  }

  /** The outcome of a call whose run was lost with a former life of the object. */
  #interrupt(stream: number): void {
    if (this.#running.has(stream)) return;
    const requests = JSON.parse(this.#log.find(stream)?.requests ?? "[]") as RequestId[];
    let { seq } = this.#log.last(stream);
    let frames = "";
    for (const id of requests) {
      seq += 1;
      const message = "The call was interrupted: what ran it was reset. It may have had effects.";
      const error = encodeError(id, { code: ErrorCode.InternalError, message, data: { reason: "interrupted" } });
      frames += encodeEvent(error, encodeCursor(this.#tag, { stream, seq }));
    }
    this.#log.append(stream, { seq, frames, isFinal: true });
  }

  #accept(socket: WebSocket, stream: number, isOwn: boolean): void {
    for (const older of this.#ctx.getWebSockets(`s${stream}`)) older.close(SUPERSEDED);
    const own = isOwn ? this.#ownSockets() : [];
    if (own.length >= OWN_MAX) own[0]?.close(SUPERSEDED);
    this.#ctx.acceptWebSocket(socket, [`s${stream}`, ...(isOwn ? ["own"] : [])]);
    this.#order = Math.max(this.#order + 1, Date.now());
    const place: SocketPlace = { stream, order: this.#order };
    socket.serializeAttachment(place);
  }

  #replay({ seq, frames, isFinal }: EventRow, from: Cursor): string {
    const kind = isFinal ? "final" : "events";
    return encodeBridge({ kind, seq, frames: framesAfter(frames, from.seq) });
  }

  #tellOne(socket: WebSocket, filter: NoticeFilter): Promise<void> {
    const number = crypto.randomUUID();
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer);
        this.#waiting.delete(number);
        resolve();
      };
      const timer = setTimeout(settle, FILTER_WAIT_MS);
      this.#waiting.set(number, settle);
      // A socket that closes meanwhile has nothing to say any more.
      if (socket.readyState === WebSocket.OPEN) socket.send(encodeBridge({ kind: "filter", number, filter }));
      else settle();
    });
  }
}

/** What a socket carries, and its place in the order of attaching. Outlives hibernation with the socket. */
interface SocketPlace {
  readonly stream: number;
  readonly order: number;
}

function placeOf(socket: WebSocket): SocketPlace {
  return socket.deserializeAttachment() as SocketPlace;
}

/** The frames of events after a number: a row may hold earlier ones, of which its reader has had some. */
function framesAfter(frames: string, after: number): string {
  return frames
    .split(/(?<=\n\n)/)
    .filter((frame) => Number.parseInt(/^id: \S+-(\w+)\n/.exec(frame)?.[1] ?? "", 36) > after)
    .join("");
}
