/**
 * The open sockets of one session's streams. They are found by their tags, because they survive hibernation.
 *
 * @module
 */

import type { ChangeFilter } from "../../core/protocol/change-notifications.ts";
import { openSockets, sendIfOpen } from "../open-sockets.ts";
import { SUPERSEDED } from "../reconnecting-socket.ts";
import { encodeBridge } from "./bridge-messages.ts";
import type { Position } from "./event-log.ts";
import type { StreamHost } from "./stream-host.ts";
import { StreamSender } from "./stream-sender.ts";

/** Milliseconds to wait until a Worker confirms a filter. Afterwards the answer is sent without the confirmation. */
const FILTER_WAIT_MS = 2_000;

/** The open sockets of the streams of one session. */
export class StreamSockets {
  readonly #host: StreamHost;
  readonly #senders = new Map<WebSocket, StreamSender>();
  /** Filters that a Worker has not confirmed yet. */
  readonly #waiting = new Map<string, () => void>();
  #order = 0;

  constructor(host: StreamHost) {
    this.#host = host;
  }

  /** Returns the socket of the latest GET stream, which delivers the notifications. */
  latestOwn(except?: WebSocket): WebSocket | undefined {
    const order = (socket: WebSocket) => this.senderOf(socket).attached.order;
    const sockets = this.own.filter((socket) => socket !== except);
    return sockets.sort((a, b) => order(a) - order(b)).at(-1);
  }

  /** The open sockets of GET streams. */
  get own(): WebSocket[] {
    return openSockets(this.#host.ctx, `own${this.#host.session}`);
  }

  /** Returns the open sockets of a stream. */
  of(stream: number): WebSocket[] {
    return openSockets(this.#host.ctx, socketTag(this.#host.session, stream));
  }

  /** Returns the sender of a socket. */
  senderOf(socket: WebSocket): StreamSender {
    let sender = this.#senders.get(socket);
    if (!sender) {
      sender = StreamSender.restore(socket, this.#host.log);
      this.#senders.set(socket, sender);
    }
    return sender;
  }

  /**
   * Accepts a socket for a stream. It replaces the stream's earlier sockets, and the oldest GET stream if there are too
   * many.
   */
  accept(socket: WebSocket, stream: number, position: Position, isOwn: boolean): StreamSender {
    const { ctx, caps, session, log } = this.#host;
    for (const older of this.of(stream)) older.close(SUPERSEDED);
    const own = isOwn ? this.own : [];
    if (own.length >= caps.ownStreamsMax) own[0]?.close(SUPERSEDED);
    ctx.acceptWebSocket(socket, [socketTag(session, stream), `n${session}`, ...(isOwn ? [`own${session}`] : [])]);
    this.#order = Math.max(this.#order + 1, Date.now());
    const sender = StreamSender.create(socket, log, { stream, after: position.seq, order: this.#order }, position);
    this.#senders.set(socket, sender);
    return sender;
  }

  /** Sends a filter to the Worker of a socket. Resolves when the Worker has confirmed it, or after {@link FILTER_WAIT_MS}. */
  tell(socket: WebSocket, filter: ChangeFilter): Promise<void> {
    const number = crypto.randomUUID();
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer);
        this.#waiting.delete(number);
        resolve();
      };
      const timer = setTimeout(settle, FILTER_WAIT_MS);
      this.#waiting.set(number, settle);
      // A closed socket will not confirm the filter.
      if (socket.readyState === WebSocket.OPEN) socket.send(encodeBridge({ kind: "filter", number, filter }));
      else settle();
    });
  }

  /** Called when a Worker confirms a filter. */
  confirm(number: string): void {
    this.#waiting.get(number)?.();
  }

  /** Called when a socket was closed. */
  forget(socket: WebSocket): void {
    this.#senders.delete(socket);
  }

  /**
   * Makes a new GET stream deliver the notifications in place of the others, since each notification is sent on exactly one stream.
   * The new stream starts before the others stop, so that no notification is lost.
   */
  async takeOver(socket: WebSocket, filter: ChangeFilter): Promise<void> {
    const others = this.own.filter((other) => other !== socket);
    await this.tell(socket, filter);
    await Promise.all(others.map((other) => this.tell(other, { lists: [], uris: [] })));
    sendIfOpen(socket, encodeBridge({ kind: "begun" }));
  }
}

/**
 * Returns the tag of the sockets that carry a stream. It contains the session, because stream numbers can be reused once
 * the log has deleted them.
 */
export function socketTag(session: number, stream: number): string {
  return `s${session} ${stream}`;
}
