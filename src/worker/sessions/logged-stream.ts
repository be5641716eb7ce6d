/**
 * One stream of a session while the object is awake: what is said on it goes to the log first, then to whoever holds
 * its response.
 *
 * @module
 */
import type { RequestId } from "../../core/protocol/jsonrpc.ts";
import { encodeEvent } from "../../http/sse.ts";
import { encodeCursor, type TagOf } from "./event-id.ts";
import { EventKind, type EventLog, type EventRow, type Position, StreamKind } from "./event-log.ts";

/** What a call says its messages on. */
export interface CallStream extends Pick<LoggedStream, "id" | "hasBegun" | "begun" | "begin" | "write" | "end"> {
  /** Absent on a stream that a client cannot come back to. */
  disconnect?(retryMs: number): void;
}

export interface LoggedStreamOptions {
  /** Undefined: a new stream, which has a number once somebody asks for it. */
  readonly id: number | undefined;
  /** Number of an event that its client has, though the log may have forgotten it. */
  readonly after: number;
  readonly session: number;
  /** Of the call; null: it belongs to none. */
  readonly requests: readonly RequestId[] | null;
  readonly kind: StreamKind;
  readonly tagOf: TagOf;
  readonly log: EventLog;
  readonly owner: StreamOwner;
}

/** Who has a stream, and tells its readers: whoever holds its response now. */
export interface StreamOwner {
  /** It is first written to. */
  begun(stream: LoggedStream): void;
  /** So much has been stored of it. @returns How much of it was forgotten for that. */
  stored(stream: number, streamSize: number, added: number): number;
  /** Follows everything before it. */
  row(stream: number, row: EventRow): void;
  /** Nothing follows the place. */
  over(stream: number, place: Position): void;
  /** The response ends once everything before is sent, and its client comes back. */
  retry(stream: number, retryMs: number): void;
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
  #id: number | undefined;
  #tag: string | undefined;
  #seq = 0;
  /** What is stored of it. */
  #size = 0;
  #frames: Frame[] = [];
  #hasBegun = false;
  #isOver = false;
  #begun: Promise<void> | undefined;
  #announce: () => void = () => undefined;
  /** Milliseconds after which the client is to come back, when its connection is to be ended as soon as it is there. */
  retryMs: number | undefined;

  constructor(options: LoggedStreamOptions) {
    this.#options = options;
    const { id, after, kind, session, log } = options;
    if (id === undefined) return;
    this.#id = id;
    this.#seq = Math.max(after, log.last(id).seq);
    if (kind !== StreamKind.Call) this.#size = log.size(session, id);
  }

  get id(): number {
    this.#id ??= this.#options.log.nextStream("call");
    return this.#id;
  }

  get kind(): StreamKind {
    return this.#options.kind;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Resolves when there is such a stream: the response is to be one. */
  get begun(): Promise<void> {
    this.#begun ??= new Promise((resolve) => {
      this.#announce = resolve;
    });
    return this.#begun;
  }

  /** Stores that there is such a stream. Written to or not, it can be resumed from now on. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { log, kind, session, requests, owner } = this.#options;
    log.begin({ id: this.id, session, requests: requests && JSON.stringify(requests) }, kind);
    owner.begun(this);
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

  /** Says one message at once. @throws {Error} when it cannot be stored; then nobody is sent it. */
  say(text: string): void {
    this.begin();
    this.#add(text, EventKind.Kept);
    this.#flush();
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
    const { log, owner } = this.#options;
    log.finish(this.id, this.#seq);
    owner.over(this.id, { seq: this.#seq, rank: 0 });
  }

  /** So much of what is stored of it was forgotten. */
  shrunk(by: number): void {
    this.#size -= by;
  }

  /** Ends the connection of whoever holds the response now, or of the next one to come. */
  disconnect(retryMs: number): void {
    if (this.#isOver) return;
    this.begin();
    this.#flush();
    this.retryMs = retryMs;
    this.#options.owner.retry(this.id, retryMs);
  }

  #add(text: string, kind: EventKind): void {
    this.#seq += 1;
    this.#tag ??= this.#options.tagOf(this.id);
    const cursor = encodeCursor(this.#tag, { stream: this.id, seq: this.#seq });
    this.#frames.push({ seq: this.#seq, text: encodeEvent(text, cursor), kind });
  }

  #flush(): void {
    const { log, owner } = this.#options;
    const rows = toRows(this.#frames.splice(0));
    // All of them first: nobody is to see a part of an event whose rest could not be stored.
    log.append(this.id, rows);
    let added = 0;
    for (const row of rows) {
      owner.row(this.id, row);
      added += row.frames.length;
    }
    this.#size += added;
    if (added > 0) this.#size -= owner.stored(this.id, this.#size, added);
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
