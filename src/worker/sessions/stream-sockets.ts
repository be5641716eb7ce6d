/**
 * The open sockets of one session's streams. They are found by their tags, because they outlive the object in memory.
 *
 * @module
 */
import type { NoticeFilter } from "../../core/protocol/notices.ts";
import { SUPERSEDED } from "../reconnecting-socket.ts";
import { encodeBridge } from "./bridge-messages.ts";
import type { Position } from "./event-log.ts";
import type { StreamHost } from "./stream-host.ts";
import { Carrier } from "./stream-socket.ts";

/** Milliseconds a Worker has to confirm a filter. After it, the answer that waits for the filter is sent all the same. */
const FILTER_WAIT_MS = 2_000;
/** The open sockets of the streams of one session. */
export class StreamSockets {
  readonly #host: StreamHost;
  readonly #carriers = new Map<WebSocket, Carrier>();
  /** Filters that a Worker has not confirmed yet. */
  readonly #waiting = new Map<string, () => void>();
  #order = 0;

  constructor(host: StreamHost) {
    this.#host = host;
  }

  /** The socket of the latest GET stream, which delivers notices. */
  latestOwn(except?: WebSocket): WebSocket | undefined {
    const order = (socket: WebSocket) => this.carrier(socket).attached.order;
    const sockets = this.own.filter((socket) => socket !== except);
    return sockets.sort((a, b) => order(a) - order(b)).at(-1);
  }

  /** The open sockets of GET streams. */
  get own(): WebSocket[] {
    return this.#open(`own${this.#host.session}`);
  }

  /** The open sockets of a stream. */
  of(stream: number): WebSocket[] {
    return this.#open(socketTag(this.#host.session, stream));
  }

  #open(tag: string): WebSocket[] {
    return this.#host.ctx.getWebSockets(tag).filter((socket) => socket.readyState === WebSocket.OPEN);
  }

  /** What sends a stream to its open sockets. */
  carriersOf(stream: number): Carrier[] {
    return this.of(stream).map((socket) => this.carrier(socket));
  }

  /** What sends a stream to a socket. */
  carrier(socket: WebSocket): Carrier {
    let carrier = this.#carriers.get(socket);
    if (!carrier) {
      carrier = Carrier.again(socket, this.#host.log);
      this.#carriers.set(socket, carrier);
    }
    return carrier;
  }

  /**
   * Accepts a socket for a stream. It replaces the sockets the stream had, and the oldest GET stream where there are
   * too many.
   */
  accept(socket: WebSocket, stream: number, place: Position, isOwn: boolean): Carrier {
    const { ctx, caps, session, log } = this.#host;
    for (const older of this.of(stream)) older.close(SUPERSEDED);
    const own = isOwn ? this.own : [];
    if (own.length >= caps.ownStreamsMax) own[0]?.close(SUPERSEDED);
    ctx.acceptWebSocket(socket, [socketTag(session, stream), `n${session}`, ...(isOwn ? [`own${session}`] : [])]);
    this.#order = Math.max(this.#order + 1, Date.now());
    const carrier = Carrier.begin(socket, log, { stream, after: place.seq, order: this.#order }, place);
    this.#carriers.set(socket, carrier);
    return carrier;
  }

  /** Tells the Worker of a socket which notices it is to deliver. Resolves when it does, or after a while. */
  tell(socket: WebSocket, filter: NoticeFilter): Promise<void> {
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

  /** A Worker says that a filter holds. */
  confirm(number: string): void {
    this.#waiting.get(number)?.();
  }

  /** A socket was closed. */
  forget(socket: WebSocket): void {
    this.#carriers.delete(socket);
  }

  /**
   * Makes a new GET stream the one that delivers notices: each notice goes to exactly one. The new one begins before the
   * others end, so that none is lost in between.
   */
  async takeOver(socket: WebSocket, filter: NoticeFilter): Promise<void> {
    const others = this.own.filter((other) => other !== socket);
    await this.tell(socket, filter);
    await Promise.all(others.map((other) => this.tell(other, { lists: [], uris: [] })));
    if (socket.readyState === WebSocket.OPEN) socket.send(encodeBridge({ kind: "begun" }));
  }
}

/**
 * Finds the sockets that carry a stream. Numbers of streams are unique within their object only as long as it knows
 * them.
 */
export function socketTag(session: number, stream: number): string {
  return `s${session} ${stream}`;
}
