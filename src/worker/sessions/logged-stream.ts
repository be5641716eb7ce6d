/**
 * One stream of a session while the object is in memory. Messages are first written to the log, and then sent to the
 * Worker that holds the response.
 *
 * @module
 */

import { encodeEvent } from "../../http/sse.ts";
import { unavailable } from "../bindings.ts";
import { encodeCursor, type TagOf } from "./event-id.ts";
import * as EventKind from "./event-kind.ts";
import { type CallRequests, type EventLog, type EventRow, encodeRequests } from "./event-log.ts";
import * as StreamKind from "./stream-kind.ts";
import type { StreamSender } from "./stream-sender.ts";

/** The stream to which a call writes its messages. */
export interface CallStream extends Pick<LoggedStream, "id" | "hasBegun" | "begun" | "begin" | "write" | "end"> {
  /** Absent if the client cannot resume the stream. */
  disconnect?(retryMs: number): void;
}

export interface LoggedStreamOptions {
  /** Undefined for a new stream, which is numbered on first use. */
  readonly id: number | undefined;
  /** Number of the last event that the client has received. The event may have been deleted from the log. */
  readonly after: number;
  readonly session: number;
  /** The requests of the call. Null for a stream without a call. */
  readonly requests: CallRequests | null;
  readonly kind: StreamKind.Kind;
  readonly tagOf: TagOf;
  readonly log: EventLog;
  readonly owner: StreamOwner;
}

/** The owner of a stream. */
export interface StreamOwner {
  /** The size of buffered progress and log messages, in UTF-16 code units, at which they are written immediately. */
  readonly gatherMax: number;
  /** Called when the stream begins. */
  begun(stream: LoggedStream): void;
  /** Called when rows have been stored. @returns The size of older rows of this stream that were deleted to make room. */
  stored(stream: number, streamSize: number, added: number): number;
  /** Returns the senders of a stream: one for each open socket. */
  sendersOf(stream: number): readonly StreamSender[];
  /** Called when messages could not be stored and were therefore not sent. */
  report(error: unknown): void;
}

/**
 * The maximum size of a row in UTF-16 code units. With up to three bytes per unit, a row stays below one megabyte.
 * @limit characters The events that one row of the log stores together. A longer event is split into several rows.
 */
export const ROW_MAX = 256 * 1024;

/** How long progress and log messages that soon follow an earlier write are buffered, in milliseconds. */
const GATHER_MS = 10;

interface Frame {
  readonly seq: number;
  readonly text: string;
  readonly kind: EventKind.Kind;
}

export class LoggedStream {
  readonly #options: LoggedStreamOptions;
  #id: number | undefined;
  #tag: string | undefined;
  #seq = 0;
  /** Size of the stored rows of this stream. */
  #size = 0;
  #frames: Frame[] = [];
  /** Size of the buffered frames. */
  #waiting = 0;
  /** Whether the buffered frames are written at the end of this turn. */
  #isDue = false;
  #flushedAtMs = 0;
  /** The timer that writes the buffered frames. */
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #hasBegun = false;
  #isOver = false;
  #begun: Promise<void> | undefined;
  #announce: () => void = () => undefined;
  /** The client's reconnection delay in milliseconds. If it is set, the next connection is closed immediately. */
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

  get kind(): StreamKind.Kind {
    return this.#options.kind;
  }

  /** The scopes that a client needs to read the stream. */
  get scopes(): readonly string[] {
    return this.#options.requests?.scopes ?? [];
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Resolves when the stream begins. From then on the response must be an SSE stream. */
  get begun(): Promise<void> {
    this.#begun ??= new Promise((resolve) => {
      this.#announce = resolve;
    });
    return this.#begun;
  }

  /** Stores the stream. From then on it can be resumed, even if it is empty. @throws {Error} if it cannot be stored. */
  begin(): void {
    if (this.#hasBegun) return;
    const { log, kind, session, requests, owner } = this.#options;
    log.begin({ id: this.id, session, requests: requests && encodeRequests(requests) }, kind);
    this.#hasBegun = true;
    owner.begun(this);
    this.#announce();
  }

  /**
   * Sends one message. Messages written in one turn share a row and a message to the Worker. So do progress and log messages
   * that a call writes within {@link GATHER_MS}.
   *
   * @param isNews Whether the message, such as progress, may be deleted when the log is full. It is dropped if the stream
   *   cannot be stored: the call continues, and its response can still be JSON.
   * @throws {McpError} if the stream of any other message cannot be stored.
   */
  write(text: string, isNews: boolean): void {
    if (this.#isOver) return;
    try {
      this.begin();
    } catch (error) {
      if (!isNews) throw unavailable(error);
      this.#options.owner.report(error);
      return;
    }
    const kind = isNews ? EventKind.News : EventKind.Kept;
    // Messages of another kind are stored separately: if progress cannot be stored, a question after it still can be.
    if (this.#frames[0] && this.#frames[0].kind !== kind) this.#flushOrReport();
    this.#add(text, kind);
    if (isNews && this.#gathers) this.#gathering ??= setTimeout(() => this.#flushOrReport(), GATHER_MS);
    else this.#flushAfterTurn();
  }

  /** Sends one message immediately. @throws {Error} when it cannot be stored. It is then not sent. */
  say(text: string): void {
    this.begin();
    this.#flushOrReport();
    this.#add(text, EventKind.Kept);
    this.#flush();
  }

  /** Sends the last message and ends the stream. @param text Undefined if the request was cancelled: it has no response. */
  end(text: string | undefined): void {
    if (this.#isOver) return;
    this.begin();
    this.#flushOrReport();
    this.#isOver = true;
    if (text !== undefined) {
      this.#add(text, EventKind.Final);
      this.#flush();
      return;
    }
    const { log, owner } = this.#options;
    log.finish(this.id, this.#seq);
    for (const sender of owner.sendersOf(this.id)) sender.over(this.#seq);
  }

  /** Called when rows of the stream have been deleted. @param by Their size. */
  shrunk(by: number): void {
    this.#size -= by;
  }

  /** Closes the connection that carries the stream. If there is none, closes the next connection instead. */
  disconnect(retryMs: number): void {
    if (this.#isOver) return;
    this.begin();
    this.#flushOrReport();
    this.retryMs = retryMs;
    for (const sender of this.#options.owner.sendersOf(this.id)) sender.retry(retryMs);
  }

  #add(text: string, kind: EventKind.Kind): void {
    this.#seq += 1;
    this.#tag ??= this.#options.tagOf(this.id);
    const cursor = encodeCursor(this.#tag, { stream: this.id, seq: this.#seq });
    const frame = { seq: this.#seq, text: encodeEvent(text, cursor), kind };
    this.#frames.push(frame);
    this.#waiting += frame.text.length;
  }

  /**
   * Whether progress and log messages are buffered. They are buffered for {@link GATHER_MS} after a recent write, because each
   * row and each message to the Worker has a cost. Standalone streams write immediately, so that no messages remain in
   * memory when another Worker takes over.
   */
  get #gathers(): boolean {
    const isSoon = Date.now() - this.#flushedAtMs < GATHER_MS;
    return isSoon && this.#waiting < this.#options.owner.gatherMax && this.kind === StreamKind.Call;
  }

  #flushAfterTurn(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => this.#flushOrReport());
  }

  #flushOrReport(): void {
    try {
      this.#flush();
    } catch (error) {
      this.#options.owner.report(error);
    }
  }

  #flush(): void {
    const { log, owner } = this.#options;
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#isDue = false;
    this.#waiting = 0;
    this.#flushedAtMs = Date.now();
    const rows = toRows(this.#frames.splice(0));
    // Store all rows before sending any. Otherwise a client could receive part of an event whose rest could not be stored.
    log.append(this.id, rows);
    let added = 0;
    for (const row of rows) {
      for (const sender of owner.sendersOf(this.id)) sender.row(row);
      added += row.frames.length;
    }
    this.#size += added;
    if (added > 0) this.#size -= owner.stored(this.id, this.#size, added);
  }
}

/** Groups frames into as few rows as possible. All frames in a row have the same kind. */
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

/** Splits a frame that is too long for one row. Only its last part can have the kind `Final`. */
function parts(seq: number, text: string, kind: EventKind.Kind): EventRow[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    // Do not split a surrogate pair, because half of it cannot be stored.
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
