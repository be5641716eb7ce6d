/**
 * One stream of a session while the object is awake: what is said on it goes to the log first, then to whoever holds
 * its response.
 *
 * @module
 */
import { encodeEvent } from "../../http/sse.ts";
import { encodeCursor } from "./event-id.ts";
import {
  EventKind,
  type EventLog,
  type EventRow,
  type Position,
  type StreamKind,
  type StreamRow,
} from "./event-log.ts";

export interface LoggedStreamOptions extends StreamRow {
  /** Nothing of it can be in the log. */
  readonly isNew: boolean;
  readonly kind: StreamKind;
  readonly tag: string;
  readonly log: EventLog;
  /** Called when the stream is first written to. */
  readonly onBegin: () => void;
  /** Called with what has been stored. */
  readonly onStored: (size: number) => void;
  readonly to: Readers;
}

/** Whoever holds the response of a stream now. */
export interface Readers {
  /** Follows everything before it. */
  row(row: EventRow): void;
  /** Nothing follows the place. */
  over(place: Position): void;
  /** The response ends once everything before is sent, and its client comes back. */
  retry(retryMs: number): void;
}

/** Units of one row at most: three bytes each, they are below the megabyte that a row should have. */
export const ROW_MAX = 256 * 1024;

interface Frame {
  readonly seq: number;
  readonly text: string;
  readonly kind: EventKind;
}

export class LoggedStream {
  readonly #options: LoggedStreamOptions;
  #seq: number;
  #frames: Frame[] = [];
  #hasBegun = false;
  #isOver = false;
  #begun: Promise<void> | undefined;
  #announce: () => void = () => undefined;
  /** Resolves when there is such a stream: the response is to be one. */
  get begun(): Promise<void> {
    this.#begun ??= new Promise((resolve) => {
      this.#announce = resolve;
    });
    return this.#begun;
  }

  /** Milliseconds after which the client is to come back, when its connection is to be ended as soon as it is there. */
  retryMs: number | undefined;

  constructor(options: LoggedStreamOptions) {
    this.#options = options;
    this.#seq = options.isNew ? 0 : options.log.last(options.id).seq;
  }

  get id(): number {
    return this.#options.id;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Stores that there is such a stream. Written to or not, it can be resumed from now on. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { log, kind, onBegin } = this.#options;
    log.begin(this.#options, kind);
    onBegin();
    this.#announce();
  }

  /**
   * Says one message. Messages of one turn share a row and a message to the Worker.
   *
   * @param isNews It may be forgotten when there is too much.
   */
  write(text: string, isNews: boolean): void {
    if (this.#isOver) return;
    this.begin();
    if (this.#frames.length === 0) queueMicrotask(() => this.#flush());
    this.#add(text, isNews ? EventKind.News : EventKind.Kept);
  }

  /** Says the last one and ends the stream. @param text Undefined: the request was cancelled, and no answer is due. */
  end(text: string | undefined): void {
    if (this.#isOver) return;
    this.begin();
    this.#flush();
    this.#isOver = true;
    if (text !== undefined) {
      this.#add(text, EventKind.Final);
      this.#flush();
      return;
    }
    const { log, id, to } = this.#options;
    log.finish(id, this.#seq);
    to.over({ seq: this.#seq, rank: 0 });
  }

  /** Ends the connection of whoever holds the response now, or of the next one to come. */
  disconnect(retryMs: number): void {
    if (this.#isOver) return;
    this.begin();
    this.#flush();
    this.retryMs = retryMs;
    this.#options.to.retry(retryMs);
  }

  #add(text: string, kind: EventKind): void {
    this.#seq += 1;
    const { tag, id } = this.#options;
    const cursor = encodeCursor(tag, { stream: id, seq: this.#seq });
    this.#frames.push({ seq: this.#seq, text: encodeEvent(text, cursor), kind });
  }

  #flush(): void {
    const { log, id, to, onStored } = this.#options;
    let size = 0;
    for (const row of toRows(this.#frames.splice(0))) {
      log.append(id, row);
      to.row(row);
      size += row.frames.length;
    }
    if (size > 0) onStored(size);
  }
}

/** Few rows, none too long, and none of them both to be kept and not. */
export function toRows(frames: readonly Frame[]): EventRow[] {
  const rows: EventRow[] = [];
  let held: EventRow | undefined;
  for (const { seq, text, kind } of frames) {
    if (held && (held.kind !== kind || held.frames.length + text.length > ROW_MAX)) {
      rows.push(held);
      held = undefined;
    }
    if (text.length > ROW_MAX) rows.push(...parts(seq, text, kind));
    else held = { seq, rank: 0, kind, frames: (held?.frames ?? "") + text };
  }
  return held ? [...rows, held] : rows;
}

/** A frame too long for one row. The last part is what makes it an event, so it alone has the kind of one. */
function parts(seq: number, text: string, kind: EventKind): EventRow[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    // A pair of surrogates is one character: halves would be stored as none.
    const end = at + ROW_MAX - (isHighSurrogate(text.charCodeAt(at + ROW_MAX - 1)) ? 1 : 0);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces.map((frames, index) => {
    const rank = index + 1 - pieces.length;
    return { seq, rank, kind: rank < 0 && kind === EventKind.Final ? EventKind.Kept : kind, frames };
  });
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}
