/**
 * The streams of one session in its object: the streams being written, the sockets that carry them, and the events that a
 * reconnecting client receives.
 *
 * @module
 */

import type { ChangeFilter } from "../../core/protocol/change-notifications.ts";
import type { RequestId } from "../../core/protocol/jsonrpc.ts";
import type { VersionRules } from "../../core/protocol/versions.ts";
import { encodeEvent, encodePriming } from "../../http/sse.ts";
import { OVER, RECONNECT_MS } from "../reconnecting-socket.ts";
import { type Attach, decodeReport, encodeBridge } from "./bridge-messages.ts";
import { createTags, encodeCursor, isOwnStream, type TagOf } from "./event-id.ts";
import {
  type CallRequests,
  decodeRequests,
  EventKind,
  type EventRow,
  type HttpSseCall,
  StreamKind,
  type StreamRow,
} from "./event-log.ts";
import { type CallStream, LoggedStream, type StreamOwner } from "./logged-stream.ts";
import { interrupted, unstored } from "./stream-errors.ts";
import type { StreamHost } from "./stream-host.ts";
import type { SocketAttachment, StreamSender } from "./stream-sender.ts";
import { StreamSockets } from "./stream-sockets.ts";
import { findStart, type Start } from "./stream-start.ts";

/**
 * Size of the messages that may wait for a client to open a stream, or for others that follow.
 * @limit characters Notifications that wait for a client to open a stream. Further ones are dropped.
 */
const WAITING_MAX = 64 * 1024;
/** Fraction of a limit that is freed at once, so that pruning does not run for each event. */
const FREED = 0.25;

export class SessionStreams implements StreamOwner {
  readonly #host: StreamHost;
  readonly #tagOf: TagOf;
  /** Streams of the calls that are running. */
  readonly #running = new Map<number, LoggedStream>();
  readonly #owned = new Map<number, LoggedStream>();
  /** Calls of an HTTP+SSE client that are running. */
  readonly #httpSseCalls = new Set<number>();
  /** Streams whose client has left for good. */
  readonly #gone = new Set<number>();
  /** When a socket of the session was last lost. */
  #lostAtMs = 0;
  /** Called when a Worker attaches to a stream. */
  readonly #onReconnect = new Set<() => void>();
  readonly #sockets: StreamSockets;
  #bytes: number | undefined;

  constructor(host: StreamHost) {
    this.#host = host;
    this.#sockets = new StreamSockets(host);
    this.#tagOf = createTags(`${host.ctx.id}`, host.session);
  }

  /** Creates the stream of a call. Nothing is stored before it begins. @param id The number of an existing stream. */
  forCall(requests: CallRequests, id?: number): LoggedStream {
    return this.#make(id, StreamKind.Call, requests);
  }

  /** Called when a call has ended and its messages are in the log. */
  settle(stream: CallStream): void {
    if (stream.hasBegun) this.#running.delete(stream.id);
  }

  // HTTP+SSE clients: see http-sse/

  /** The stream that the client reads: the latest standalone stream. */
  get speaking(): number | undefined {
    const socket = this.#sockets.latestOwn();
    return socket && this.#sockets.senderOf(socket).attached.stream;
  }

  /**
   * Milliseconds in which a Worker may still reconnect to the stream of the client. At most 0 if the client has left: a
   * Worker that holds its response would have reconnected by now.
   */
  get reconnectWithinMs(): number {
    if (this.#gone.size > 0) return 0;
    return Math.max(this.#host.bornAtMs, this.#lostAtMs) + RECONNECT_MS - Date.now();
  }

  /** Whether a socket was lost so recently that its Worker may still reconnect. */
  get isAwaited(): boolean {
    return this.#lostAtMs + RECONNECT_MS > Date.now();
  }

  /** Number of messages that wait in {@link reconnected}. */
  get awaiting(): number {
    return this.#onReconnect.size;
  }

  /** Resolves when a Worker attaches to a stream, or when none is expected to any more. */
  reconnected(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#onReconnect.delete(done);
        resolve();
      };
      const timer = setTimeout(done, this.reconnectWithinMs);
      this.#onReconnect.add(done);
    });
  }

  /** Stores that a call was accepted, whose answer will be sent on the stream `own`. @returns The number of the record. */
  accept(own: number, requests: readonly RequestId[]): number {
    const { log, session, onBegin } = this.#host;
    const id = log.nextStream("call");
    const call: HttpSseCall = { own, heard: requests };
    log.begin({ id, session, requests: JSON.stringify(call) }, StreamKind.HttpSseCall);
    this.#httpSseCalls.add(id);
    onBegin();
    return id;
  }

  /** Deletes the record of an accepted call that has been answered. */
  answered(id: number): void {
    this.#httpSseCalls.delete(id);
    this.#host.log.drop(id);
  }

  /**
   * Sends the answer of a call on the stream that the client reads. If the answer cannot be stored, an error is sent
   * instead, without storing it, because the client would wait forever otherwise.
   */
  answerOn(own: number, text: string, requests: readonly RequestId[]): void {
    if (this.#gone.has(own)) return;
    try {
      this.#ownOf(own).say(text);
    } catch (error) {
      this.#host.onError(error);
      const frames = requests.map((id) => encodeEvent(unstored(id))).join("");
      this.#send(own, { seq: this.#host.log.last(own).seq, rank: 0, kind: EventKind.Kept, frames });
    }
  }

  /** Sends a message on the stream that the client reads, even if no Worker is attached now. */
  sayOn(own: number, text: string, isNews: boolean): void {
    if (!this.#gone.has(own)) this.#ownOf(own).write(text, isNews);
  }

  #ownOf(own: number): LoggedStream {
    const [sender] = this.sendersOf(own);
    return this.#own(sender?.attached ?? { stream: own }, StreamKind.Own);
  }

  /** Ends a call with an error because its answer could not be stored. */
  fail(stream: CallStream, requests: readonly RequestId[], error: unknown): void {
    this.#host.onError(error);
    this.settle(stream);
    this.#conclude(stream.id, requests.map(unstored));
  }

  // Called by the streams

  begun(stream: LoggedStream): void {
    if (stream.kind === StreamKind.Call) this.#running.set(stream.id, stream);
    this.#host.onBegin();
  }

  report(error: unknown): void {
    this.#host.onError(error);
  }

  sendersOf(stream: number): readonly StreamSender[] {
    return this.#sockets.of(stream).map((socket) => this.#sockets.senderOf(socket));
  }

  /** Whether a GET stream is open. */
  get hasOwn(): boolean {
    return this.#sockets.own.length > 0;
  }

  /** Whether the logs of the session have reached their limit. */
  get isFull(): boolean {
    return this.#size() >= this.#host.caps.sessionBytesMax;
  }

  /** Sends a message that belongs to no call, on the latest GET stream. */
  say(text: string, whenNobodyListens: "wait" | "drop"): void {
    const socket = this.#sockets.latestOwn();
    if (socket) this.#own(this.#sockets.senderOf(socket).attached, StreamKind.Own).write(text, false);
    else if (whenNobodyListens === "wait") this.#sayLater(text);
  }

  /** Sends the filter of the session to the Worker of the latest GET stream. Resolves when it is in effect. */
  async tell(filter: ChangeFilter): Promise<void> {
    const socket = this.#sockets.latestOwn();
    if (socket) await this.#sockets.tell(socket, filter);
  }

  /** Called when a socket was closed. If it delivered the notifications, the latest remaining GET stream takes over. */
  async closed(socket: WebSocket, filter: ChangeFilter, isGone: boolean): Promise<void> {
    const { stream, order } = this.#sockets.senderOf(socket).attached;
    if (isGone) this.#gone.add(stream);
    else this.#lostAtMs = Date.now();
    this.#sockets.forget(socket);
    if (this.#sockets.of(stream).every((other) => other === socket)) this.#owned.delete(stream);
    const speaker = isOwnStream(stream) ? this.#sockets.latestOwn(socket) : undefined;
    if (speaker && this.#sockets.senderOf(speaker).attached.order < order) await this.#sockets.tell(speaker, filter);
  }

  /** Processes a message of a Worker: a report of read units, a receipt, or the acknowledgement of a filter. */
  received(socket: WebSocket, message: string): void {
    const [kind, number] = decodeReport(message);
    const sender = this.#sockets.senderOf(socket);
    if (kind === "r") this.#release(sender.attached.stream, number);
    else if (kind === "t") sender.taken(number);
    else this.#sockets.confirm(message);
  }

  /**
   * Opens a socket for a Worker, or answers 400, 403 or 405, which the Worker returns to the client.
   *
   * @param scopes The scopes of the client's token.
   */
  attach(
    target: Attach["target"],
    rules: VersionRules,
    filter: ChangeFilter,
    scopes: readonly string[] = [],
  ): Response {
    const from = findStart(target, this.#host, this.#tagOf, this.#running);
    if (!from) return new Response(null, { status: 400 });
    if (!this.#scopesOf(from).every((scope) => scopes.includes(scope))) return new Response(null, { status: 403 });
    const { stream, seq, rank } = from;
    const isOwn = isOwnStream(stream);
    if (!isOwn && !this.#isHeld(from)) return new Response(null, { status: 405 });
    const { 0: theirs, 1: ours } = new WebSocketPair();
    const sender = this.#sockets.accept(ours, stream, { seq, rank }, isOwn);
    const frames = rules.primingEvent ? encodePriming(encodeCursor(this.#tagOf(stream), from)) : "";
    ours.send(encodeBridge({ kind: "hello", stream, seq, waits: isOwn, frames }));
    sender.pump();
    const retryMs = this.#running.get(stream)?.retryMs;
    if (retryMs !== undefined && target.kind === "call") sender.retry(retryMs);
    if (isOwn) {
      void this.#sockets.takeOver(ours, filter);
      if (target.kind === "again") this.#interruptOn(stream);
      for (const tell of this.#onReconnect) tell();
    }
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** Returns the scopes that are needed to read a stream. */
  #scopesOf({ stream, row }: Start): readonly string[] {
    const requests = row ? decodeRequests(row.requests) : { scopes: [] };
    return this.#running.get(stream)?.scopes ?? ("scopes" in requests ? requests.scopes : []);
  }

  /** Ends all open GET streams. */
  endOwn(): void {
    for (const socket of this.#sockets.own) {
      this.#gone.add(this.#sockets.senderOf(socket).attached.stream);
      socket.close(OVER);
    }
    this.#owned.clear();
  }

  /** Called when the session ends. Ends every stream except those of running calls, and deletes the logs. */
  end(): void {
    this.endOwn();
    const { log, session } = this.#host;
    // A client may be waiting for an interrupted call.
    for (const row of log.unfinished()) if (row.session === session) this.interrupt(row);
    log.forget(session, (stream) => this.isRunning(stream));
  }

  isRunning(stream: number): boolean {
    return this.#running.has(stream) || this.#httpSseCalls.has(stream);
  }

  /** Answers a call that was interrupted by a restart of the object with an error. */
  interrupt({ id, requests }: StreamRow): void {
    if (this.isRunning(id)) return;
    const lost = decodeRequests(requests);
    if ("own" in lost) {
      for (const request of lost.heard) this.answerOn(lost.own, interrupted(request), [request]);
      this.answered(id);
      return;
    }
    this.#conclude(id, lost.ids.map(interrupted));
  }

  /** Ends the stream of a call that does not run. The client gets the messages even if they cannot be stored. */
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
    this.#send(id, row);
  }

  #send(stream: number, row: EventRow): void {
    for (const sender of this.sendersOf(stream)) sender.row(row);
  }

  /** Answers the interrupted calls of an HTTP+SSE client whose Worker has reconnected. */
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

  /** Discards cached sizes. Called when rows were deleted. */
  forgetSizes(): void {
    this.#bytes = undefined;
    for (const [id] of this.#owned) if (this.#sockets.of(id).length === 0) this.#owned.delete(id);
  }

  #make(id: number | undefined, kind: StreamKind, requests: CallRequests | null, after = 0): LoggedStream {
    const { log, session } = this.#host;
    return new LoggedStream({ id, after, session, kind, requests, tagOf: this.#tagOf, log, owner: this });
  }

  /** The log deletes whole rows, so a row must be small compared with the limits. */
  get gatherMax(): number {
    const { streamBytesMax, sessionBytesMax } = this.#host.caps;
    return Math.min(WAITING_MAX, FREED * Math.min(streamBytesMax, sessionBytesMax));
  }

  /** Enforces the limits. Returns the size of the rows of this stream that were deleted. */
  stored(stream: number, streamSize: number, added: number): number {
    const { log, session, caps } = this.#host;
    const all = this.#size(added);
    let freed = 0;
    // The rest of an event that was partly sent must not be deleted.
    const isNeeded = (...event: [number, number]) => this.sendersOf(event[0]).some((each) => each.isWithin(...event));
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

  /** Returns the size of the logs of this session, including what was just added. Queried once, then counted in memory. */
  #size(added = 0): number {
    if (this.#bytes === undefined) this.#bytes = this.#host.log.size(this.#host.session);
    else this.#bytes += added;
    return this.#bytes;
  }

  /** Returns the writer of a GET stream. After a restart it continues at the end of the log, or where its reader began. */
  #own({ stream: id, after }: Pick<SocketAttachment, "stream" | "after">, kind: StreamKind): LoggedStream {
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

  /** Returns whether the stream of a call has or may still get events after the position. */
  #isHeld({ stream, seq, row, end }: Start): boolean {
    if (this.#running.has(stream)) return true;
    if (!row) return false;
    const { log, tryResume } = this.#host;
    const found = end ?? log.last(stream);
    if (found.isFinal) return found.seq > seq;
    if (tryResume(row)) return true;
    this.interrupt(row);
    return log.last(stream).seq > seq;
  }
}
