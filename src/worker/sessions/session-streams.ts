/**
 * The streams of one session in its Durable Object: the streams being written, the sockets that carry them, and the events
 * that a reconnecting client receives.
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
import * as EventKind from "./event-kind.ts";
import { type CallRequests, decodeRequests, type EventRow, type HttpSseCall, type StreamRow } from "./event-log.ts";
import { type CallStream, LoggedStream, type StreamOwner } from "./logged-stream.ts";
import { interrupted, unstored } from "./stream-errors.ts";
import type { StreamHost } from "./stream-host.ts";
import * as StreamKind from "./stream-kind.ts";
import type { SocketAttachment, StreamSender } from "./stream-sender.ts";
import { StreamSockets } from "./stream-sockets.ts";
import { findStart, type Start } from "./stream-start.ts";

/**
 * The maximum size of the messages that wait for a client to open a stream, or that are buffered before they are written.
 * @limit characters The notifications that wait for a client to open a stream. Notifications that exceed it are dropped.
 */
const WAITING_MAX = 64 * 1024;
/** The fraction of a limit that pruning frees, so that it does not run for each event. */
const FREED = 0.25;

export class SessionStreams implements StreamOwner {
  readonly #host: StreamHost;
  readonly #tagOf: TagOf;
  /** Streams of running calls, by number. */
  readonly #running = new Map<number, LoggedStream>();
  readonly #owned = new Map<number, LoggedStream>();
  /** Record numbers of running calls of an HTTP+SSE client. */
  readonly #httpSseCalls = new Set<number>();
  /** Numbers of streams to which their client cannot return. */
  readonly #gone = new Set<number>();
  /** When a socket of the session was last lost, in epoch milliseconds. */
  #lostAtMs = 0;
  /** Called when a Worker connects to a standalone stream. */
  readonly #onReconnect = new Set<() => void>();
  readonly #sockets: StreamSockets;
  #bytes: number | undefined;

  constructor(host: StreamHost) {
    this.#host = host;
    this.#sockets = new StreamSockets(host);
    this.#tagOf = createTags(`${host.ctx.id}`, host.session);
  }

  /** Creates the stream of a call. It is not stored until it begins. @param id The number of an existing stream. */
  forCall(requests: CallRequests, id?: number): LoggedStream {
    return this.#make(id, StreamKind.Call, requests);
  }

  /** Called when a call has ended and its messages are in the log. */
  settle(stream: CallStream): void {
    if (stream.hasBegun) this.#running.delete(stream.id);
  }

  // HTTP+SSE clients: see http-sse/

  /** The number of the stream that the client reads: the latest standalone stream. */
  get speaking(): number | undefined {
    const socket = this.#sockets.latestOwn();
    return socket && this.#sockets.senderOf(socket).attached.stream;
  }

  /**
   * The remaining time, in milliseconds, in which a Worker may reconnect to the client's stream. 0 or negative if the
   * client has left: a Worker that still holds its response would have reconnected by now.
   */
  get reconnectWithinMs(): number {
    if (this.#gone.size > 0) return 0;
    return Math.max(this.#host.bornAtMs, this.#lostAtMs) + RECONNECT_MS - Date.now();
  }

  /** Whether a socket was lost so recently that its Worker may still reconnect. */
  get isAwaited(): boolean {
    return this.#lostAtMs + RECONNECT_MS > Date.now();
  }

  /** Number of messages that wait for {@link reconnected}. */
  get awaiting(): number {
    return this.#onReconnect.size;
  }

  /** Resolves when a Worker connects to a standalone stream, or when this is no longer expected. */
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

  /** Stores that a call was accepted. Its response will be sent on the stream `own`. @returns The number of the record. */
  accept(own: number, requests: readonly RequestId[]): number {
    const { log, session, onBegin } = this.#host;
    const id = log.nextStream("call");
    const call: HttpSseCall = { own, heard: requests };
    log.begin({ id, session, requests: JSON.stringify(call) }, StreamKind.HttpSseCall);
    this.#httpSseCalls.add(id);
    onBegin();
    return id;
  }

  /** Deletes the record of an accepted call. Called when its response has been sent. */
  answered(id: number): void {
    this.#httpSseCalls.delete(id);
    this.#host.log.drop(id);
  }

  /**
   * Sends the response of a call on the stream that the client reads. If the response cannot be stored, sends an error
   * instead without storing it, so that the client does not wait forever.
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

  /** Sends a message on the stream that the client reads, even if no Worker is connected to it now. */
  sayOn(own: number, text: string, isNews: boolean): void {
    if (!this.#gone.has(own)) this.#ownOf(own).write(text, isNews);
  }

  #ownOf(own: number): LoggedStream {
    const [sender] = this.sendersOf(own);
    return this.#own(sender?.attached ?? { stream: own }, StreamKind.Own);
  }

  /** Ends a call with an error, because its response could not be stored. */
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

  /** Whether the logs of the session have reached their maximum size. */
  get isFull(): boolean {
    return this.#size() >= this.#host.caps.sessionBytesMax;
  }

  /** Sends a message that does not belong to a call, on the latest GET stream. */
  say(text: string, whenNobodyListens: "wait" | "drop"): void {
    const socket = this.#sockets.latestOwn();
    if (socket) this.#own(this.#sockets.senderOf(socket).attached, StreamKind.Own).write(text, false);
    else if (whenNobodyListens === "wait") this.#sayLater(text);
  }

  /** Sends the filter of the session to the Worker of the latest GET stream. Resolves when the filter is in effect. */
  async tell(filter: ChangeFilter): Promise<void> {
    const socket = this.#sockets.latestOwn();
    if (socket) await this.#sockets.tell(socket, filter);
  }

  /** Called when a socket has been closed. If it delivered the notifications, the latest remaining GET stream takes over. */
  async closed(socket: WebSocket, filter: ChangeFilter, isGone: boolean): Promise<void> {
    const { stream, order } = this.#sockets.senderOf(socket).attached;
    if (isGone) this.#gone.add(stream);
    else this.#lostAtMs = Date.now();
    this.#sockets.forget(socket);
    if (this.#sockets.of(stream).every((other) => other === socket)) this.#owned.delete(stream);
    const speaker = isOwnStream(stream) ? this.#sockets.latestOwn(socket) : undefined;
    if (speaker && this.#sockets.senderOf(speaker).attached.order < order) await this.#sockets.tell(speaker, filter);
  }

  /** Handles a message from a Worker: a report of read units, a receipt, or the acknowledgement of a filter. */
  received(socket: WebSocket, message: string): void {
    const [kind, number] = decodeReport(message);
    const sender = this.#sockets.senderOf(socket);
    if (kind === "r") this.#release(sender.attached.stream, number);
    else if (kind === "t") sender.taken(number);
    else this.#sockets.confirm(message);
  }

  /**
   * Opens a socket for a Worker, or returns 400, 403 or 405, which the Worker forwards to the client.
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

  /** Returns the scopes that a client needs to read a stream. */
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

  /** Called when the session ends. Ends all streams except the streams of running calls, and deletes their logs. */
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

  /** Ends a call that a restart of the object has interrupted, with an error. */
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

  /** Ends the stream of a call that is not running. The messages are sent to the client even if they cannot be stored. */
  #conclude(id: number, texts: readonly string[]): void {
    const { log } = this.#host;
    const encode = (newCursor?: () => string) => texts.map((text) => encodeEvent(text, newCursor?.())).join("");
    // Without ids, in case the log cannot be read.
    const row = { seq: 0, rank: 0, kind: EventKind.Final, frames: encode() };
    try {
      row.seq = log.last(id).seq;
      row.frames = encode(() => {
        row.seq += 1;
        return encodeCursor(this.#tagOf(id), { stream: id, seq: row.seq });
      });
      log.append(id, [row]);
    } catch (error) {
      this.#host.onError(error);
    }
    this.#send(id, row);
  }

  #send(stream: number, row: EventRow): void {
    for (const sender of this.sendersOf(stream)) sender.row(row);
  }

  /** Ends the interrupted calls of an HTTP+SSE client whose Worker has reconnected, with errors. */
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

  /** Clears the cached sizes. Called when rows have been deleted. */
  forgetSizes(): void {
    this.#bytes = undefined;
    for (const [id] of this.#owned) if (this.#sockets.of(id).length === 0) this.#owned.delete(id);
  }

  #make(id: number | undefined, kind: StreamKind.Kind, requests: CallRequests | null, after = 0): LoggedStream {
    const { log, session } = this.#host;
    return new LoggedStream({ id, after, session, kind, requests, tagOf: this.#tagOf, log, owner: this });
  }

  /** The maximum size of buffered messages. The log deletes whole rows, so a row must be small compared to the limits. */
  get gatherMax(): number {
    const { streamBytesMax, sessionBytesMax } = this.#host.caps;
    return Math.min(WAITING_MAX, FREED * Math.min(streamBytesMax, sessionBytesMax));
  }

  /** Enforces the size limits. Returns the size of the deleted rows of this stream. */
  stored(stream: number, streamSize: number, added: number): number {
    const { log, session, caps } = this.#host;
    const all = this.#size(added);
    let freed = 0;
    // The rest of a partly sent event must not be deleted.
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

  /** Returns the size of the logs of this session, including `added`. It is queried once and then updated in memory. */
  #size(added = 0): number {
    if (this.#bytes === undefined) this.#bytes = this.#host.log.size(this.#host.session);
    else this.#bytes += added;
    return this.#bytes;
  }

  /** Returns the writer of a GET stream. After a restart it continues after the last event that is logged or was received. */
  #own({ stream: id, after }: Pick<SocketAttachment, "stream" | "after">, kind: StreamKind.Kind): LoggedStream {
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

  /** Returns whether the stream of a call has events after the position, or may still receive some. */
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
