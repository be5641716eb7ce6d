/**
 * One socket to a Worker, and its position in the stream. The log is the queue: a slow reader is sent at most a window
 * beyond what it has read, and the rest stays in the log.
 *
 * @module
 */

import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { encodeEvent } from "../../http/sse.ts";
import { sendIfOpen } from "../open-sockets.ts";
import { OVER } from "../reconnecting-socket.ts";
import { encodeBridge } from "./bridge-messages.ts";
import { EventKind, type EventLog, type EventRow, type Position } from "./event-log.ts";

/** UTF-16 units that may be sent but not yet read by the client. */
export const WINDOW = 1024 * 1024;

/** The state of a socket that survives hibernation: it is attached to the socket. */
export interface SocketAttachment {
  readonly stream: number;
  /** Number of the event after which its client began. */
  readonly after?: number;
  /** Higher for sockets that were attached later. */
  readonly order: number;
  /** The position up to which events were sent. Undefined if the log has no more events. */
  readonly behind?: Position | undefined;
}

/** Returns the state that is attached to the socket of a sender. */
export function readAttachment(socket: WebSocket): SocketAttachment {
  return socket.deserializeAttachment();
}

export class StreamSender {
  readonly #socket: WebSocket;
  readonly #log: EventLog;
  #attached: SocketAttachment;
  #position: Position;
  /** Units sent but not yet read by the client. Starts at 0 again after hibernation. */
  #inFlight = 0;
  #retryMs: number | undefined;

  /** Creates the sender of a new socket. @param position The client has everything up to this position. */
  static create(socket: WebSocket, log: EventLog, attached: SocketAttachment, position: Position): StreamSender {
    const sender = new StreamSender(socket, log, attached, position);
    sender.#keep(position);
    return sender;
  }

  /** Creates the sender of a socket that was accepted before the object hibernated. */
  static restore(socket: WebSocket, log: EventLog): StreamSender {
    const attached = readAttachment(socket);
    return new StreamSender(socket, log, attached, attached.behind ?? log.last(attached.stream));
  }

  private constructor(socket: WebSocket, log: EventLog, attached: SocketAttachment, position: Position) {
    this.#socket = socket;
    this.#log = log;
    this.#attached = attached;
    this.#position = position;
  }

  get attached(): SocketAttachment {
    return this.#attached;
  }

  /** Returns whether only a part of this event was sent, so that its rest must follow. */
  isWithin(stream: number, seq: number): boolean {
    return this.#position.rank < 0 && this.#position.seq === seq && this.#attached.stream === stream;
  }

  /** Sends a row that was just stored, unless the reader is behind. */
  row(row: EventRow): void {
    if (this.#attached.behind) return;
    if (this.#inFlight < WINDOW) this.#send(row, row.frames);
    else this.#keep(this.#position);
  }

  /** Reports the end of the stream. A reader that is behind finds it in the log. */
  over(seq: number): void {
    if (!this.#attached.behind) this.#say(encodeBridge({ kind: "final", seq, frames: "" }));
  }

  /** Ends the response when everything before it was sent. */
  retry(retryMs: number): void {
    if (this.#attached.behind) this.#retryMs = retryMs;
    else this.#say(encodeBridge({ kind: "retry", retryMs }));
  }

  /** Called when the client has read this many units. */
  taken(units: number): void {
    this.#inFlight = Math.max(0, this.#inFlight - units);
    const { behind } = this.#attached;
    if (!behind) return;
    this.pump();
    // The log was deleted with the session. Its client would wait forever.
    if (this.#position === behind && !this.#attached.behind) this.#socket.close(OVER);
  }

  /** Sends events from the log until the window is full. */
  pump(): void {
    for (const row of this.#log.after(this.#attached.stream, this.#position)) {
      if (this.#inFlight >= WINDOW) {
        this.#keep(this.#position);
        return;
      }
      if (this.#position.rank < 0 && row.seq !== this.#position.seq) break;
      this.#send(row, this.#fitting(row));
    }
    if (this.#position.rank < 0) {
      // The rest of a partly sent event was deleted. The client drops that event, and resumes after the last complete one.
      this.#socket.close(OVER);
      return;
    }
    this.#keep(undefined);
    if (this.#retryMs !== undefined) this.retry(this.#retryMs);
  }

  /**
   * Returns the frames of a row without those that the client already has. If events before the row were deleted, a
   * warning for the client comes first.
   */
  #fitting({ rank, frames }: EventRow): string {
    const { seq } = this.#position;
    const first = eventNumber(frames);
    if (first === undefined || this.#position.rank < 0) return frames;
    if (first > seq + 1) return `${warning(first - seq - 1)}${frames}`;
    if (first === seq + 1 || rank < 0) return frames;
    return frames
      .split(/(?<=\n\n)/)
      .filter((frame) => (eventNumber(frame) ?? 0) > seq)
      .join("");
  }

  #send({ seq, rank, kind }: EventRow, frames: string): void {
    const isFinal = kind === EventKind.Final;
    this.#inFlight += frames.length;
    this.#position = { seq, rank };
    this.#say(encodeBridge({ kind: isFinal ? "final" : "events", seq, ...(rank < 0 && { rank }), frames }));
  }

  #say(message: string): void {
    sendIfOpen(this.#socket, message);
  }

  #keep(behind: Position | undefined): void {
    this.#attached = { ...this.#attached, behind };
    this.#socket.serializeAttachment(this.#attached);
  }
}

/** Returns the number of the first event in the frames, or undefined if they begin in the middle of an event. */
function eventNumber(frames: string): number | undefined {
  const [, number] = /^id: \S+-(\w+)\n/.exec(frames) ?? [];
  return number === undefined ? undefined : Number.parseInt(number, 36);
}

function warning(missing: number): string {
  const data = `${missing} earlier messages are no longer stored.`;
  const params: JsonObject = { level: "warning", logger: "mcp-edge", data };
  return encodeEvent(JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params }));
}
