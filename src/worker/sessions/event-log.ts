/**
 * The event log of an object, in its SQLite database: what was said on the streams of its sessions, as encoded SSE
 * frames. The tables are made when the first stream begins, so that a session that never streams stores nothing.
 *
 * Sizes are in UTF-16 units, which is what a string tells for nothing; in UTF-8 most text takes one byte for each.
 *
 * @module
 */
import type { RequestId } from "../../core/protocol/jsonrpc.ts";
import { isOwnStream } from "./event-id.ts";
import { createTables, openTables } from "./log-schema.ts";

/** What a stream carries. */
export const StreamKind = {
  /** The answers of one POST. */
  Call: 0,
  /** What belongs to no call. */
  Own: 1,
  /** Likewise, said while the client had no stream open for it: the next one it opens is this. */
  Waiting: 2,
  /** Nothing: a call of an HTTP+SSE client that has no outcome yet. `requests` is a {@link HeardCall}. */
  Heard: 3,
} as const;
export type StreamKind = (typeof StreamKind)[keyof typeof StreamKind];

/** What may become of a row. */
export const EventKind = {
  /** Progress and the like: goes first when there is too much. */
  News: 0,
  /** The last of its stream. */
  Final: 1,
  /** Kept as long as its stream: the call hangs on it. */
  Kept: 2,
} as const;
export type EventKind = (typeof EventKind)[keyof typeof EventKind];

/** A stream that has been begun. */
export interface StreamRow {
  readonly id: number;
  readonly session: number;
  /** The requests served on it, as JSON text of their ids; none for a stream of the session's own. */
  readonly requests: string | null;
}

interface StoredStream extends StreamRow {
  readonly kind: StreamKind;
}

/** Where a call of an HTTP+SSE client is answered: there is a row of it until it is. */
export interface HeardCall {
  /** Number of the stream that the client reads. */
  readonly own: number;
  readonly heard: readonly RequestId[];
}

/** A place in a stream: after a row. */
export interface Position {
  /** Number of the last event in the row. */
  readonly seq: number;
  /** 0, or in an event of several rows minus the number of those that follow. */
  readonly rank: number;
}

/** The last row of a stream. */
export interface StreamEnd extends Position {
  readonly isFinal: boolean;
}

/** Frames of one turn, or a part of a frame too long for one row. */
export interface EventRow extends Position {
  readonly kind: EventKind;
  readonly frames: string;
}

/** How long things are kept, in milliseconds, and when it is now. */
export interface Keeping {
  readonly nowMs: number;
  /** After the last word on a stream. */
  readonly resumeMs: number;
  /** For news on a stream that goes on. */
  readonly newsMs: number;
  /** Whether a client holds a stream of a session's own. */
  readonly isOpen: (stream: StreamRow) => boolean;
}

const EMPTY_BYTES = 4096;

/** The newest event of a stream stays, because the next one takes its number from it. */
const NOT_NEWEST = "event_2.seq < (SELECT MAX(seq) FROM event_2 AS newest WHERE newest.stream = event_2.stream)";

export class EventLog {
  readonly #sql: SqlStorage;
  #hasTables: boolean | undefined;
  #lastStream = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** A number no stream of this object has had: from the clock, since the log forgets what it has collected. */
  nextStream(kind: "call" | "own"): number {
    this.#lastStream ||= this.#newest();
    const next = Math.max(this.#lastStream + 1, Date.now());
    this.#lastStream = isOwnStream(next) === (kind === "own") ? next : next + 1;
    return this.#lastStream;
  }

  begin({ id, session, requests }: StreamRow, kind: StreamKind): void {
    if (!this.#exists()) {
      createTables(this.#sql);
      this.#hasTables = true;
    }
    this.#sql.exec("INSERT OR IGNORE INTO stream_2 VALUES (?, ?, ?, ?)", id, session, kind, requests);
  }

  /** Stores rows that follow all there are: each of them, or none when it throws. */
  append(stream: number, rows: readonly EventRow[]): void {
    try {
      for (const { seq, rank, kind, frames } of rows) {
        this.#sql.exec("INSERT INTO event_2 VALUES (?, ?, ?, ?, ?, ?)", stream, seq, rank, Date.now(), kind, frames);
      }
    } catch (error) {
      this.#sql.exec("DELETE FROM event_2 WHERE stream = ? AND seq >= ?", stream, rows[0]?.seq ?? 0);
      throw error;
    }
  }

  /** Nothing follows event `seq`, though it is no answer. */
  finish(stream: number, seq: number): void {
    const query = "UPDATE event_2 SET kind = 1 WHERE stream = ? AND seq = ? AND rank = 0";
    if (this.#sql.exec(query, stream, seq).rowsWritten > 0) return;
    this.append(stream, [{ seq, rank: 0, kind: EventKind.Final, frames: "" }]);
  }

  find(stream: number): StreamRow | undefined {
    return this.#rows<StreamRow>("SELECT id, session, requests FROM stream_2 WHERE id = ?", stream)[0];
  }

  /** The rows after a place, in order; read as far as the caller goes on. */
  *after(stream: number, { seq, rank }: Position): Iterable<EventRow> {
    if (!this.#exists()) return;
    const query =
      "SELECT seq, rank, kind, frames FROM event_2 WHERE stream = ? AND (seq, rank) > (?, ?) ORDER BY seq, rank";
    for (const row of this.#sql.exec(query, stream, seq, rank)) yield row as unknown as EventRow;
  }

  /** The end of a stream. */
  last(stream: number): StreamEnd {
    const query = "SELECT seq, rank, kind FROM event_2 WHERE stream = ? ORDER BY seq DESC, rank DESC LIMIT 1";
    const [row] = this.#rows<EventRow>(query, stream);
    return { seq: row?.seq ?? 0, rank: row?.rank ?? 0, isFinal: row?.kind === EventKind.Final };
  }

  /** Streams of calls that have no final event, and calls of HTTP+SSE clients that have no outcome. */
  unfinished(): StreamRow[] {
    const query =
      "SELECT id, session, requests FROM stream_2 WHERE kind IN (0, 3) AND NOT EXISTS " +
      "(SELECT 1 FROM event_2 WHERE stream = id AND kind = 1)";
    return this.#rows(query);
  }

  /** The stream on which messages of a session wait for a client to open one. */
  waiting(session: number): number | undefined {
    const query = "SELECT id FROM stream_2 WHERE session = ? AND kind = 2 ORDER BY id DESC LIMIT 1";
    return this.#rows<{ id: number }>(query, session)[0]?.id;
  }

  /** A client has opened the stream on which messages waited. */
  adopt(stream: number): void {
    this.#sql.exec("UPDATE stream_2 SET kind = 1 WHERE id = ?", stream);
  }

  /** What is stored of a session, or of one stream of it. */
  size(session: number, stream?: number): number {
    const { where, bindings } = within(session, stream);
    const query = `SELECT SUM(LENGTH(frames)) AS size FROM stream_2 JOIN event_2 ON stream = id WHERE ${where}`;
    return this.#rows<{ size: number | null }>(query, ...bindings)[0]?.size ?? 0;
  }

  /**
   * Forgets the oldest news of a session, or of one stream of it, until so much is free: whole events, and never the
   * newest of a stream. Returns how much is.
   *
   * @param isNeeded Says which events stay nevertheless.
   */
  prune(session: number, toFree: number, isNeeded: (stream: number, seq: number) => boolean, stream?: number): number {
    const { where, bindings } = within(session, stream);
    const query =
      "SELECT stream, seq, SUM(LENGTH(frames)) AS size FROM stream_2 JOIN event_2 ON stream = id " +
      `WHERE ${where} AND event_2.kind = 0 AND ${NOT_NEWEST} GROUP BY stream, seq ORDER BY at, stream, seq`;
    let freed = 0;
    for (const row of this.#rows<{ stream: number; seq: number; size: number }>(query, ...bindings)) {
      if (freed >= toFree) break;
      if (isNeeded(row.stream, row.seq)) continue;
      this.#sql.exec("DELETE FROM event_2 WHERE stream = ? AND seq = ?", row.stream, row.seq);
      freed += row.size;
    }
    return freed;
  }

  /**
   * Forgets the events of a stream that its reader has received, when it never asks for one again. The number of the
   * newest stays, because the next one takes its number from it.
   *
   * @returns How much was freed.
   */
  release(stream: number, seq: number): number {
    const query = "SELECT SUM(LENGTH(frames)) AS size FROM event_2 WHERE stream = ? AND seq <= ?";
    const size = this.#rows<{ size: number | null }>(query, stream, seq)[0]?.size ?? 0;
    if (size === 0) return 0;
    this.#sql.exec(`DELETE FROM event_2 WHERE stream = ? AND seq <= ? AND (rank < 0 OR ${NOT_NEWEST})`, stream, seq);
    this.#sql.exec("UPDATE event_2 SET frames = '' WHERE stream = ? AND seq <= ?", stream, seq);
    return size;
  }

  /**
   * Forgets streams that are over and had their time, and old news. Says whether anything is left, and whether that
   * waits for time to pass or for a client to close its stream.
   */
  collect({ nowMs, resumeMs, newsMs, isOpen }: Keeping): "nothing" | "open" | "some" {
    if (!this.#exists()) return "nothing";
    this.#sql.exec(`DELETE FROM event_2 WHERE kind = 0 AND at < ? AND ${NOT_NEWEST}`, nowMs - newsMs);
    const query =
      "SELECT * FROM stream_2 WHERE (kind IN (1, 2) OR EXISTS (SELECT 1 FROM event_2 WHERE stream = id AND kind = 1)) " +
      "AND NOT EXISTS (SELECT 1 FROM event_2 WHERE stream = id AND at >= ?)";
    const isHeld = (row: StoredStream) => row.kind !== StreamKind.Call && isOpen(row);
    for (const row of this.#rows<StoredStream>(query, nowMs - resumeMs)) {
      const { id } = row;
      // The last one stays, because the next takes its number from it.
      if (isHeld(row)) this.#sql.exec("DELETE FROM event_2 WHERE stream = ? AND seq < ?", id, this.last(id).seq);
      else this.drop(id);
    }
    const left = this.#rows<StoredStream>("SELECT * FROM stream_2");
    if (left.length === 0) return "nothing";
    return left.every(isHeld) ? "open" : "some";
  }

  /** Forgets the streams of a session that nobody writes to. */
  forget(session: number, isWritten: (stream: number) => boolean): void {
    for (const { id } of this.#rows<{ id: number }>("SELECT id FROM stream_2 WHERE session = ?", session)) {
      if (!isWritten(id)) this.drop(id);
    }
  }

  /** The tables are gone: everything stored was deleted. */
  reset(): void {
    this.#hasTables = false;
  }

  /** Forgets a stream. */
  drop(stream: number): void {
    this.#sql.exec("DELETE FROM event_2 WHERE stream = ?", stream);
    this.#sql.exec("DELETE FROM stream_2 WHERE id = ?", stream);
  }

  #rows<Row>(query: string, ...bindings: readonly (number | string)[]): Row[] {
    return this.#exists() ? (this.#sql.exec(query, ...bindings).toArray() as Row[]) : [];
  }

  #exists(): boolean {
    // Most sessions store nothing, and are not to read a row for it: an empty database is one page at most.
    this.#hasTables ??= this.#sql.databaseSize > EMPTY_BYTES && openTables(this.#sql);
    return this.#hasTables;
  }

  #newest(): number {
    return this.#rows<{ id: number | null }>("SELECT MAX(id) AS id FROM stream_2")[0]?.id ?? 0;
  }
}

function within(session: number, stream: number | undefined): { where: string; bindings: number[] } {
  if (stream === undefined) return { where: "session = ?", bindings: [session] };
  return { where: "session = ? AND id = ?", bindings: [session, stream] };
}
