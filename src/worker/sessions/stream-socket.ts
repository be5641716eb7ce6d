/**
 * One socket to a Worker, and how far it has carried its stream. The log is the queue: a reader that is behind is sent
 * no more than a window beyond what it has taken, and the rest waits where it is stored.
 *
 * @module
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { encodeEvent } from "../../http/sse.ts";
import { OVER } from "../reconnecting-socket.ts";
import { encodeBridge } from "./bridge-messages.ts";
import { EventKind, type EventLog, type EventRow, type Position } from "./event-log.ts";

/** Units that may be on their way to a client. */
export const WINDOW = 1024 * 1024;

/** What is known of a socket whatever becomes of the object: it is attached to the socket. */
export interface Attached {
  readonly stream: number;
  /** Number of the event after which its client began. */
  readonly after?: number;
  /** Its place in the order of attaching. */
  readonly order: number;
  /** Where it stopped, when there is more in the log. */
  readonly behind?: Position | undefined;
}

export class Carrier {
  readonly #socket: WebSocket;
  readonly #log: EventLog;
  #attached: Attached;
  #place: Position;
  /** Sent, and not yet taken by the client. After a sleep of the object it counts from nothing again. */
  #underWay = 0;
  #retryMs: number | undefined;

  /** A socket just accepted. @param place Its client has what came before. */
  static begin(socket: WebSocket, log: EventLog, attached: Attached, place: Position): Carrier {
    const carrier = new Carrier(socket, log, attached, place);
    carrier.#keep(place);
    return carrier;
  }

  /** A socket from a former life of the object. */
  static again(socket: WebSocket, log: EventLog): Carrier {
    const attached = socket.deserializeAttachment() as Attached;
    return new Carrier(socket, log, attached, attached.behind ?? log.last(attached.stream));
  }

  private constructor(socket: WebSocket, log: EventLog, attached: Attached, place: Position) {
    this.#socket = socket;
    this.#log = log;
    this.#attached = attached;
    this.#place = place;
  }

  get attached(): Attached {
    return this.#attached;
  }

  /** Whether an event was sent in part: the rest of it has to follow. */
  isWithin(stream: number, seq: number): boolean {
    return this.#place.rank < 0 && this.#place.seq === seq && this.#attached.stream === stream;
  }

  /** Takes a row just stored. */
  row(row: EventRow): void {
    if (this.#attached.behind) return;
    if (this.#underWay < WINDOW) this.#send(row, row.frames);
    else this.#keep(this.#place);
  }

  /** Nothing follows a place. Who is behind reads so in the log. */
  over({ seq }: Position): void {
    if (!this.#attached.behind) this.#say(encodeBridge({ kind: "final", seq, frames: "" }));
  }

  /** Ends the response when everything before is sent. */
  retry(retryMs: number): void {
    if (this.#attached.behind) this.#retryMs = retryMs;
    else this.#say(encodeBridge({ kind: "retry", retryMs }));
  }

  /** The client has taken this much. */
  taken(units: number): void {
    this.#underWay = Math.max(0, this.#underWay - units);
    if (this.#attached.behind) this.pump();
  }

  /** Sends what is in the log, as far as the window goes. */
  pump(): void {
    for (const row of this.#log.after(this.#attached.stream, this.#place)) {
      if (this.#underWay >= WINDOW) {
        this.#keep(this.#place);
        return;
      }
      if (this.#place.rank < 0 && row.seq !== this.#place.seq) break;
      this.#send(row, this.#fitting(row));
    }
    if (this.#place.rank < 0) {
      // Half of an event was sent, and the rest was forgotten. A client drops half of one, and comes back after the last.
      this.#socket.close(OVER);
      return;
    }
    this.#keep(undefined);
    if (this.#retryMs !== undefined) this.retry(this.#retryMs);
  }

  /**
   * The frames of a row less those the client has: a row can hold earlier ones. Where some are missing that were
   * forgotten, the client is told.
   */
  #fitting({ rank, frames }: EventRow): string {
    const { seq } = this.#place;
    const first = eventNumber(frames);
    if (first === undefined || this.#place.rank < 0) return frames;
    if (first > seq + 1) return `${warning(first - seq - 1)}${frames}`;
    if (first === seq + 1 || rank < 0) return frames;
    return frames
      .split(/(?<=\n\n)/)
      .filter((frame) => (eventNumber(frame) ?? 0) > seq)
      .join("");
  }

  #send({ seq, rank, kind }: EventRow, frames: string): void {
    const isFinal = kind === EventKind.Final;
    this.#underWay += frames.length;
    this.#place = { seq, rank };
    this.#say(encodeBridge({ kind: isFinal ? "final" : "events", seq, ...(rank < 0 ? { rank } : {}), frames }));
  }

  #say(message: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(message);
  }

  #keep(behind: Position | undefined): void {
    this.#attached = { ...this.#attached, behind };
    this.#socket.serializeAttachment(this.#attached);
  }
}

/** The number of the event a frame begins with; undefined where a frame only goes on. */
function eventNumber(frames: string): number | undefined {
  const [, number] = /^id: \S+-(\w+)\n/.exec(frames) ?? [];
  return number === undefined ? undefined : Number.parseInt(number, 36);
}

function warning(missing: number): string {
  const data = `${missing} earlier messages are no longer kept.`;
  const params: JsonObject = { level: "warning", logger: "mcp-edge", data };
  return encodeEvent(JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params }));
}
