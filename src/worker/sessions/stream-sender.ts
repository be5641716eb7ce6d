/**
 * One socket to a Worker, and its position in the stream. The log serves as the queue of a slow reader: at most one window
 * of unread data is sent, and the rest stays in the log.
 *
 * @module
 */

import { logNotification } from "../../core/protocol/logging.ts";
import { encodeEvent } from "../../http/sse.ts";
import { sendIfOpen } from "../open-sockets.ts";
import { OVER } from "../reconnecting-socket.ts";
import { encodeBridge } from "./bridge-messages.ts";
import * as EventKind from "./event-kind.ts";
import type { EventLog, EventRow, Position } from "./event-log.ts";

/** The maximum amount of data that is sent before the client has read it, in UTF-16 code units. */
export const WINDOW = 1024 * 1024;

/** The state that is attached to a socket and survives hibernation. */
export interface SocketAttachment {
  readonly stream: number;
  /** Number of the event after which its client began to read. */
  readonly after?: number;
  /** Increases with each socket that is accepted. */
  readonly order: number;
  /** The position up to which events were sent. Undefined if all events in the log were sent. */
  readonly behind?: Position | undefined;
}

/** Returns the state that is attached to a socket. */
export function readAttachment(socket: WebSocket): SocketAttachment {
  return socket.deserializeAttachment();
}

export class StreamSender {
  readonly #socket: WebSocket;
  readonly #log: EventLog;
  #attached: SocketAttachment;
  #position: Position;
  /** Units sent but not yet read by the client. Restarts at 0 after hibernation. */
  #inFlight = 0;
  #retryMs: number | undefined;

  /** Creates the sender of a new socket. @param position The position up to which the client has received events. */
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

  /** Returns whether this event was sent only in part, so that the rest must follow. */
  isWithin(stream: number, seq: number): boolean {
    return this.#position.rank < 0 && this.#position.seq === seq && this.#attached.stream === stream;
  }

  /** Sends a row that was just stored, unless earlier rows must be sent first. */
  row(row: EventRow): void {
    if (this.#attached.behind) return;
    if (this.#inFlight < WINDOW) this.#send(row, row.frames);
    else this.#keep(this.#position);
  }

  /** Reports the end of the stream. A reader that is behind receives it later from the log. */
  over(seq: number): void {
    if (!this.#attached.behind) this.#say(encodeBridge({ kind: "final", seq, frames: "" }));
  }

  /** Ends the response once all earlier events have been sent. */
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
    // The log was deleted together with the session. Without the close, the client would wait forever.
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
      // The rest of a partly sent event was deleted. The client drops the event and resumes after the last complete event.
      this.#socket.close(OVER);
      return;
    }
    this.#keep(undefined);
    if (this.#retryMs !== undefined) this.retry(this.#retryMs);
  }

  /**
   * Returns the frames of a row that the client does not have yet. If events before the row were deleted, a warning to the
   * client precedes them.
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

/** Returns the number of the first event in the frames, or undefined if the frames begin in the middle of an event. */
function eventNumber(frames: string): number | undefined {
  const [, number] = /^id: \S+-(\w+)\n/.exec(frames) ?? [];
  return number === undefined ? undefined : Number.parseInt(number, 36);
}

function warning(missing: number): string {
  const data = `${missing} earlier messages are no longer stored.`;
  return encodeEvent(JSON.stringify(logNotification("warning", data, "mcp-edge")));
}
