/**
 * The streams of one session, in its object: which are being written, which sockets carry them, and what a client that
 * comes back is given.
 *
 * @module
 */
import { INTERRUPTED_CALL } from "../../core/protocol/interrupted-call.ts";
import { encodeError, type RequestId } from "../../core/protocol/jsonrpc.ts";
import type { NoticeFilter } from "../../core/protocol/notices.ts";
import type { VersionRules } from "../../core/protocol/versions.ts";
import { encodeEvent, encodePriming } from "../../http/sse.ts";
import { BACK_MS, OVER } from "../reconnecting-socket.ts";
import { type Attach, decodeReceived, decodeTaken, encodeBridge } from "./bridge-messages.ts";
import { decodeCursor, earlierTagOf, encodeCursor, isOwnStream, type TagOf, tagsOf } from "./event-id.ts";
import {
  EventKind,
  type EventRow,
  type HeardCall,
  type Position,
  type StreamEnd,
  StreamKind,
  type StreamRow,
} from "./event-log.ts";
import { type CallStream, LoggedStream, type StreamOwner } from "./logged-stream.ts";
import type { StreamHost } from "./stream-host.ts";
import type { Attached } from "./stream-socket.ts";
import { StreamSockets } from "./stream-sockets.ts";

/** Where a socket begins, and the row of its stream where there is one. */
interface Start extends Position {
  readonly stream: number;
  readonly row?: StreamRow | undefined;
  /** The end of its log, where that has been looked up. */
  readonly end?: StreamEnd;
}

/** Bytes of messages that wait for a client to open a stream. */
const WAITING_MAX = 64 * 1024;
/** What is freed at once, as a part of the cap: pruning is not to run for each event. */
const FREED = 0.25;

export class SessionStreams implements StreamOwner {
  readonly #host: StreamHost;
  readonly #tagOf: TagOf;
  /** Streams of calls that run in this life of the object. */
  readonly #running = new Map<number, LoggedStream>();
  readonly #owned = new Map<number, LoggedStream>();
  /** Calls of an HTTP+SSE client that run in this life of the object. */
  readonly #heard = new Set<number>();
  /** Its streams whose client is gone. */
  readonly #gone = new Set<number>();
  /** When a socket of the session was last lost. */
  #lostAtMs = 0;
  /** Called when a Worker has come for a stream. */
  readonly #onBack = new Set<() => void>();
  readonly #sockets: StreamSockets;
  #bytes: number | undefined;

  constructor(host: StreamHost) {
    this.#host = host;
    this.#sockets = new StreamSockets(host);
    this.#tagOf = tagsOf(`${host.ctx.id}`, host.session);
  }

  /** A stream for a call about to run. Nothing is stored before it begins. @param id Of one that was begun before. */
  forCall(requests: readonly RequestId[], id?: number): LoggedStream {
    return this.#make(id, StreamKind.Call, requests);
  }

  /** The call has ended, and what it said is in the log. */
  settle(stream: CallStream): void {
    if (stream.hasBegun) this.#running.delete(stream.id);
  }

  // Of HTTP+SSE clients: see http-sse/

  /** The stream that the client reads: the latest of the session's own. */
  get speaking(): number | undefined {
    const socket = this.#sockets.latestOwn();
    return socket && this.#sockets.carrier(socket).attached.stream;
  }

  /**
   * Milliseconds for which a Worker may still come back to the stream of the client, which it lost; not above 0 when the
   * client is gone: a Worker that held its response would have come back by now.
   */
  get backWithinMs(): number {
    if (this.#gone.size > 0) return 0;
    return Math.max(this.#host.bornAtMs, this.#lostAtMs) + BACK_MS - Date.now();
  }

  /** Whether a socket was lost so recently that its Worker may still be dialling again. */
  get isAwaited(): boolean {
    return this.#lostAtMs + BACK_MS > Date.now();
  }

  /** How many wait in {@link back}. */
  get awaiting(): number {
    return this.#onBack.size;
  }

  /** Resolves when a Worker has come for a stream, or can no longer be expected to. */
  back(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#onBack.delete(done);
        resolve();
      };
      const timer = setTimeout(done, this.backWithinMs);
      this.#onBack.add(done);
    });
  }

  /** Stores that a call was accepted, which is answered on `own`. @returns Its number. */
  accept(own: number, heard: readonly RequestId[]): number {
    const { log, session, onBegin } = this.#host;
    const id = log.nextStream("call");
    const call: HeardCall = { own, heard };
    log.begin({ id, session, requests: JSON.stringify(call) }, StreamKind.Heard);
    this.#heard.add(id);
    onBegin();
    return id;
  }

  /** An accepted call has its outcome. */
  answered(id: number): void {
    this.#heard.delete(id);
    this.#host.log.drop(id);
  }

  /**
   * Says the answer of a call on the stream that the client reads. When it cannot be stored, an error takes its place,
   * which is not stored either: the client would wait in vain.
   */
  answerOn(own: number, text: string, requests: readonly RequestId[]): void {
    if (this.#gone.has(own)) return;
    try {
      this.#ownOf(own).say(text);
    } catch (error) {
      this.#host.onError(error);
      const frames = requests.map((id) => encodeEvent(unstored(id))).join("");
      this.row(own, { seq: this.#host.log.last(own).seq, rank: 0, kind: EventKind.Kept, frames });
    }
  }

  /** Says something on the stream that the client reads, whether or not a Worker is there now. */
  sayOn(own: number, text: string, isNews: boolean): void {
    if (!this.#gone.has(own)) this.#ownOf(own).write(text, isNews);
  }

  #ownOf(own: number): LoggedStream {
    const [carrier] = this.#sockets.carriersOf(own);
    return this.#own(carrier?.attached ?? { stream: own }, StreamKind.Own);
  }

  /** Ends a call with an error in place of its answer, which could not be stored. */
  fail(stream: CallStream, requests: readonly RequestId[], error: unknown): void {
    this.#host.onError(error);
    this.settle(stream);
    this.#conclude(stream.id, requests.map(unstored));
  }

  // Of its streams

  begun(stream: LoggedStream): void {
    if (stream.kind === StreamKind.Call) this.#running.set(stream.id, stream);
    this.#host.onBegin();
  }

  row(stream: number, row: EventRow): void {
    for (const carrier of this.#sockets.carriersOf(stream)) carrier.row(row);
  }

  over(stream: number, place: Position): void {
    for (const carrier of this.#sockets.carriersOf(stream)) carrier.over(place);
  }

  retry(stream: number, retryMs: number): void {
    for (const carrier of this.#sockets.carriersOf(stream)) carrier.retry(retryMs);
  }

  /** Whether a GET stream is open. */
  get hasOwn(): boolean {
    return this.#sockets.own.length > 0;
  }

  /** Whether nothing more can be stored. */
  get isFull(): boolean {
    return this.#size() >= this.#host.caps.sessionBytesMax;
  }

  /** Says something that belongs to no call, on one GET stream: the latest. */
  say(text: string, whenNobodyListens: "wait" | "drop"): void {
    const socket = this.#sockets.latestOwn();
    if (socket) this.#own(this.#sockets.carrier(socket).attached, StreamKind.Own).write(text, false);
    else if (whenNobodyListens === "wait") this.#sayLater(text);
  }

  /** Tells the Worker that holds the latest GET stream what the session wants to hear of; resolves when it does. */
  async tell(filter: NoticeFilter): Promise<void> {
    const socket = this.#sockets.latestOwn();
    if (socket) await this.#sockets.tell(socket, filter);
  }

  /** A Worker let go of a stream. When it was the one that told of notices, another does. */
  async left(socket: WebSocket, filter: NoticeFilter, isGone: boolean): Promise<void> {
    const { stream, order } = this.#sockets.carrier(socket).attached;
    if (isGone) this.#gone.add(stream);
    else this.#lostAtMs = Date.now();
    this.#sockets.forget(socket);
    if (this.#sockets.of(stream).every((other) => other === socket)) this.#owned.delete(stream);
    const speaker = isOwnStream(stream) ? this.#sockets.latestOwn(socket) : undefined;
    if (speaker && this.#sockets.carrier(speaker).attached.order < order) await this.#sockets.tell(speaker, filter);
  }

  /** What a Worker says: what its client has taken, what has arrived for good, or that a filter holds. */
  heard(socket: WebSocket, message: string): void {
    const taken = decodeTaken(message);
    const received = decodeReceived(message);
    if (received !== undefined) this.#release(this.#sockets.carrier(socket).attached.stream, received);
    else if (taken === undefined) this.#sockets.confirm(message);
    else this.#sockets.carrier(socket).taken(taken);
  }

  /** Gives a Worker the socket it asked for; 400 and 405 as the client is to be told. */
  attach(target: Attach["target"], rules: VersionRules, filter: NoticeFilter): Response {
    const from = this.#find(target);
    if (!from) return new Response(null, { status: 400 });
    const { stream, seq, rank } = from;
    const isOwn = isOwnStream(stream);
    if (!isOwn && !this.#isHeld(from)) return new Response(null, { status: 405 });
    const { 0: theirs, 1: ours } = new WebSocketPair();
    const carrier = this.#sockets.accept(ours, stream, { seq, rank }, isOwn);
    const frames = rules.primingEvent ? encodePriming(encodeCursor(this.#tagOf(stream), from)) : "";
    ours.send(encodeBridge({ kind: "hello", stream, seq, waits: isOwn, frames }));
    carrier.pump();
    const retryMs = this.#running.get(stream)?.retryMs;
    if (retryMs !== undefined && target.kind === "call") carrier.retry(retryMs);
    if (isOwn) {
      void this.#sockets.takeOver(ours, filter);
      if (target.kind === "again") this.#interruptOn(stream);
      for (const tell of this.#onBack) tell();
    }
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** Ends the GET streams that are open. */
  endOwn(): void {
    for (const socket of this.#sockets.own) {
      this.#gone.add(this.#sockets.carrier(socket).attached.stream);
      socket.close(OVER);
    }
    this.#owned.clear();
  }

  /** Ends every stream but those of calls that run, and forgets what was said: the session is over. */
  end(): void {
    this.endOwn();
    const { log, session } = this.#host;
    // Somebody may be waiting for a call that was lost.
    for (const row of log.unfinished()) if (row.session === session) this.interrupt(row);
    log.forget(session, (stream) => this.isRunning(stream));
  }

  isRunning(stream: number): boolean {
    return this.#running.has(stream) || this.#heard.has(stream);
  }

  /** The outcome of a call whose run was lost with a former life of the object. */
  interrupt({ id, requests }: StreamRow): void {
    if (this.isRunning(id)) return;
    const lost = JSON.parse(requests ?? "[]") as RequestId[] | HeardCall;
    if ("own" in lost) {
      for (const request of lost.heard) this.answerOn(lost.own, interrupted(request), [request]);
      this.answered(id);
      return;
    }
    this.#conclude(id, lost.map(interrupted));
  }

  /** Ends the stream of a call that nobody writes to. Whoever waits is told even when it cannot be stored. */
  #conclude(id: number, texts: readonly string[]): void {
    let { seq } = this.#host.log.last(id);
    let frames = "";
    const tag = this.#tagOf(id);
    for (const text of texts) {
      seq += 1;
      frames += encodeEvent(text, encodeCursor(tag, { stream: id, seq }));
    }
    const row = { seq, rank: 0, kind: EventKind.Final, frames };
    try {
      this.#host.log.append(id, [row]);
    } catch (error) {
      this.#host.onError(error);
    }
    this.row(id, row);
  }

  /** Calls of an HTTP+SSE client that were lost with a former life of the object, whose Worker is back. */
  #interruptOn(own: number): void {
    for (const row of this.#host.log.unfinished()) {
      if (row.session === this.#host.session && row.requests?.startsWith(`{"own":${own},`)) this.interrupt(row);
    }
  }

  #release(stream: number, seq: number): void {
    const freed = this.#host.log.release(stream, seq);
    this.#owned.get(stream)?.shrunk(freed);
    if (this.#bytes !== undefined) this.#bytes -= freed;
  }

  /** What was stored has become less, or nothing. */
  forgetSizes(): void {
    this.#bytes = undefined;
    for (const [id] of this.#owned) if (this.#sockets.of(id).length === 0) this.#owned.delete(id);
  }

  #make(id: number | undefined, kind: StreamKind, requests: readonly RequestId[] | null, after = 0): LoggedStream {
    const { log, session } = this.#host;
    return new LoggedStream({ id, after, session, kind, requests, tagOf: this.#tagOf, log, owner: this });
  }

  /** Keeps to the caps. Returns what was forgotten of this stream. */
  stored(stream: number, streamSize: number, added: number): number {
    const { log, session, caps } = this.#host;
    const all = this.#size(added);
    let freed = 0;
    // A client that cannot resume has no use for half of an event.
    const isNeeded = (...event: [number, number]) =>
      this.#sockets.carriersOf(event[0]).some((each) => each.isWithin(...event));
    if (streamSize > caps.streamBytesMax) {
      freed = log.prune(session, streamSize - caps.streamBytesMax * (1 - FREED), isNeeded, stream);
      this.#bytes = all - freed;
    }
    if (all - freed > caps.sessionBytesMax) {
      log.prune(session, all - freed - caps.sessionBytesMax * (1 - FREED), isNeeded);
      this.#bytes = log.size(session);
    }
    return freed;
  }

  /** What is stored of this session, with what has just been added. Counted once in a life of the object. */
  #size(added = 0): number {
    if (this.#bytes === undefined) this.#bytes = this.#host.log.size(this.#host.session);
    else this.#bytes += added;
    return this.#bytes;
  }

  /** The writer of a GET stream. In a new life of the object it goes on where the log ends, or else its reader began. */
  #own({ stream: id, after }: Pick<Attached, "stream" | "after">, kind: StreamKind): LoggedStream {
    let stream = this.#owned.get(id);
    if (!stream) {
      stream = this.#make(id, kind, null, after);
      this.#owned.set(id, stream);
    }
    return stream;
  }

  #sayLater(text: string): void {
    const { log, session } = this.#host;
    const id = log.waiting(session) ?? log.nextStream("own");
    if (log.size(session, id) + text.length <= WAITING_MAX)
      this.#own({ stream: id }, StreamKind.Waiting).write(text, false);
  }

  /** Where a target begins; undefined when it names what this session was never given. */
  #find(target: Attach["target"]): Start | undefined {
    switch (target.kind) {
      case "call":
        return this.#ours({ stream: target.stream, seq: 0, rank: 0 });
      case "again":
        return this.#ours({ stream: target.stream, seq: target.after, rank: target.rank ?? 0 });
      case "standalone":
        return { stream: this.#standalone(), seq: 0, rank: 0 };
      case "resume":
        return this.#resumed(target.lastEventId);
    }
  }

  /** Undefined for a stream of another session in the same object. */
  #ours(start: Start): Start | undefined {
    if (this.#running.has(start.stream)) return start;
    const row = this.#host.log.find(start.stream);
    return row && row.session !== this.#host.session ? undefined : { ...start, row };
  }

  #resumed(lastEventId: string): Start | undefined {
    const { ctx, log, session } = this.#host;
    const cursor = decodeCursor(lastEventId, this.#tagOf, () => earlierTagOf(`${ctx.id}`, session));
    const start = cursor && this.#ours({ stream: cursor.stream, seq: cursor.seq, rank: 0 });
    if (!cursor || !start) return undefined;
    if (start.row || this.#running.has(start.stream)) {
      const end = log.last(start.stream);
      return start.seq > end.seq ? undefined : { ...start, end };
    }
    // An earlier id does not show that its number was ever given out, so nothing is to be made of that number.
    return cursor.isEarlier && isOwnStream(start.stream) ? this.#find({ kind: "standalone" }) : start;
  }

  /** The stream a client opens for what belongs to no call: that of the messages that wait for it, or a new one. */
  #standalone(): number {
    const { log, session } = this.#host;
    const waiting = log.waiting(session);
    if (waiting === undefined) return log.nextStream("own");
    log.adopt(waiting);
    return waiting;
  }

  /** Whether anything can still come on the stream of a call after a place in it. */
  #isHeld({ stream, seq, row, end }: Start): boolean {
    if (this.#running.has(stream)) return true;
    if (!row) return false;
    const { log, goesOn } = this.#host;
    const found = end ?? log.last(stream);
    if (found.isFinal) return found.seq > seq;
    if (goesOn(row)) return true;
    this.interrupt(row);
    return log.last(stream).seq > seq;
  }
}

function interrupted(request: RequestId): string {
  return encodeError(request, INTERRUPTED_CALL);
}

function unstored(request: RequestId): string {
  const message = "The call has ended, but its answer could not be stored. It may have had effects.";
  return encodeError(request, { ...INTERRUPTED_CALL, message });
}
