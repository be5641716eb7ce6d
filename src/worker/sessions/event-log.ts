/**
 * The event log of a Durable Object, in its SQLite database. It stores the events of the streams of all its sessions, as
 * encoded SSE frames. The tables are created when the first stream begins, so a session without streams has no rows.
 *
 * Sizes are in UTF-16 code units, like the length of a string. In UTF-8, most text takes one byte per unit.
 *
 * @module
 */
import type { RequestId } from "../../core/protocol/jsonrpc.ts";
import { FIND_LOG } from "../roles.ts";
import { isOwnStream } from "./event-id.ts";
import * as EventKind from "./event-kind.ts";
import * as StreamKind from "./stream-kind.ts";

/** A stream that has begun. */
export interface StreamRow {
  readonly id: number;
  readonly session: number;
  /** The requests of its call: see {@link encodeRequests}. Null for a standalone stream. */
  readonly requests: string | null;
}

/** The requests of a call. */
export interface CallRequests {
  readonly ids: readonly RequestId[];
  /** The scopes that the call required. Reading its stream requires them too. */
  readonly scopes: readonly string[];
}

/** Encodes the requests of a call for the column `requests`. */
export function encodeRequests({ ids, scopes }: CallRequests): string {
  return JSON.stringify(scopes.length > 0 ? { ids, scopes } : ids);
}

/** Decodes the column `requests`. */
export function decodeRequests(text: string | null): CallRequests | HttpSseCall {
  const requests = JSON.parse(text ?? "[]") as RequestId[] | CallRequests | HttpSseCall;
  return Array.isArray(requests) ? { ids: requests, scopes: [] } : requests;
}

interface StoredStream extends StreamRow {
  readonly kind: StreamKind.Kind;
}

/** The record of a call of an HTTP+SSE client. It is stored until the response has been sent. */
export interface HttpSseCall {
  /** Number of the stream that the client reads. */
  readonly own: number;
  /** Ids of the requests. The name `heard` is part of the stored format. */
  readonly heard: readonly RequestId[];
}

/** A position in a stream: directly after a row. */
export interface Position {
  /** Number of the last event in the row. */
  readonly seq: number;
  /** 0, or the negative number of rows of the same event that follow. */
  readonly rank: number;
}

/** The last row of a stream. */
export interface StreamEnd extends Position {
  readonly isFinal: boolean;
}

/** Frames that were written together, or a part of a frame that is too long for one row. */
export interface EventRow extends Position {
  readonly kind: EventKind.Kind;
  readonly frames: string;
}

/** The parameters of {@link EventLog.collect}. */
export interface Keeping {
  readonly nowMs: number;
  /** How long a stream is kept after its last event, in milliseconds. */
  readonly resumeMs: number;
  /** How long progress and log messages are kept on a stream that has not ended, in milliseconds. */
  readonly progressRetentionMs: number;
  /** Returns the connected readers of a stream. `behind` is set for a reader to which some events have not been sent yet. */
  readonly readersOf: (stream: StreamRow) => readonly { readonly behind?: Position | undefined }[];
}

const EMPTY_BYTES = 4096;

/** The interval, in milliseconds, at which open streams are checked, in case the close of a socket is never reported. */
const OPEN_MS = 24 * 60 * 60_000;

const TABLES =
  "CREATE TABLE stream (id INTEGER PRIMARY KEY, session INTEGER, kind INTEGER, requests TEXT);" +
  "CREATE TABLE event (stream INTEGER, seq INTEGER, rank INTEGER, at INTEGER, kind INTEGER, frames TEXT," +
  "PRIMARY KEY (stream, seq, rank)) WITHOUT ROWID";

/** Excludes the newest event of each stream from deletion, because the number of the next event is derived from it. */
const NOT_NEWEST = "event.seq < (SELECT MAX(seq) FROM event AS newest WHERE newest.stream = event.stream)";

export class EventLog {
  readonly #sql: SqlStorage;
  #hasTables: boolean | undefined;
  #lastStream = 0;
  /** Whether the database was empty, without even an alarm, when the log was first used. Cached: reading its size is slow. */
  wasEmpty = false;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns an unused stream number. It is derived from the clock, because the numbers of deleted streams are not stored. */
  nextStream(kind: "call" | "own"): number {
    this.#lastStream ||= this.#newest();
    const next = Math.max(this.#lastStream + 1, Date.now());
    this.#lastStream = isOwnStream(next) === (kind === "own") ? next : next + 1;
    return this.#lastStream;
  }

  begin({ id, session, requests }: StreamRow, kind: StreamKind.Kind): void {
    if (!this.#exists()) {
      this.#sql.exec(TABLES);
      this.#hasTables = true;
    }
    this.#sql.exec("INSERT OR IGNORE INTO stream VALUES (?, ?, ?, ?)", id, session, kind, requests);
  }

  /** Appends all rows, or none of them if it throws. */
  append(stream: number, rows: readonly EventRow[]): void {
    try {
      for (const { seq, rank, kind, frames } of rows) {
        this.#sql.exec("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", stream, seq, rank, Date.now(), kind, frames);
      }
    } catch (error) {
      this.#sql.exec("DELETE FROM event WHERE stream = ? AND seq >= ?", stream, rows[0]?.seq ?? 0);
      throw error;
    }
  }

  /** Marks the stream as ended at event `seq`, without a response. */
  finish(stream: number, seq: number): void {
    const query = "UPDATE event SET kind = 1 WHERE stream = ? AND seq = ? AND rank = 0";
    if (this.#sql.exec(query, stream, seq).rowsWritten > 0) return;
    this.append(stream, [{ seq, rank: 0, kind: EventKind.Final, frames: "" }]);
  }

  find(stream: number): StreamRow | undefined {
    return this.#rows<StreamRow>("SELECT * FROM stream WHERE id = ?", stream)[0];
  }

  /** Yields the rows after a position, in order. They are read lazily. */
  *after(stream: number, { seq, rank }: Position): Iterable<EventRow> {
    if (!this.#exists()) return;
    const query = "SELECT * FROM event WHERE stream = ? AND (seq, rank) > (?, ?) ORDER BY seq, rank";
    for (const row of this.#sql.exec(query, stream, seq, rank)) yield row as unknown as EventRow;
  }

  /** Returns the last position of a stream, and whether the stream has ended there. */
  last(stream: number): StreamEnd {
    const query = "SELECT seq, rank, kind FROM event WHERE stream = ? ORDER BY seq DESC, rank DESC LIMIT 1";
    const [row] = this.#rows<EventRow>(query, stream);
    return { seq: row?.seq ?? 0, rank: row?.rank ?? 0, isFinal: row?.kind === EventKind.Final };
  }

  /** Returns the streams of calls without a final event, and the pending calls of HTTP+SSE clients. */
  unfinished(): StreamRow[] {
    const query =
      "SELECT * FROM stream WHERE kind IN (0, 3) AND NOT EXISTS " +
      "(SELECT 1 FROM event WHERE stream = id AND kind = 1)";
    return this.#rows(query);
  }

  /** Returns the stream whose messages wait until the client of a session opens a standalone stream. */
  waiting(session: number): number | undefined {
    const query = "SELECT id FROM stream WHERE session = ? AND kind = 2 ORDER BY id DESC LIMIT 1";
    return this.#rows<{ id: number }>(query, session)[0]?.id;
  }

  /** Called when a client has opened the stream that contains waiting messages. */
  adopt(stream: number): void {
    this.#sql.exec("UPDATE stream SET kind = 1 WHERE id = ?", stream);
  }

  /** Returns the stored size of a session or one of its streams. */
  size(session: number, stream?: number): number {
    const { where, bindings } = within(session, stream);
    const query = `SELECT SUM(LENGTH(frames)) AS size FROM stream JOIN event ON stream = id WHERE ${where}`;
    return this.#rows<{ size: number | null }>(query, ...bindings)[0]?.size ?? 0;
  }

  /**
   * Deletes the oldest progress and log messages of a session or one of its streams, until `toFree` units are freed. Only
   * whole events are deleted, and never the newest event of a stream.
   *
   * @param isNeeded Returns true for an event that must not be deleted.
   * @returns The freed size.
   */
  prune(session: number, toFree: number, isNeeded: (stream: number, seq: number) => boolean, stream?: number): number {
    const { where, bindings } = within(session, stream);
    const query =
      "SELECT stream, seq, SUM(LENGTH(frames)) AS size FROM stream JOIN event ON stream = id " +
      `WHERE ${where} AND event.kind = 0 AND ${NOT_NEWEST} GROUP BY stream, seq ORDER BY at, stream, seq`;
    let freed = 0;
    for (const row of this.#rows<{ stream: number; seq: number; size: number }>(query, ...bindings)) {
      if (freed >= toFree) break;
      if (isNeeded(row.stream, row.seq)) continue;
      this.#sql.exec("DELETE FROM event WHERE stream = ? AND seq = ?", row.stream, row.seq);
      freed += row.size;
    }
    return freed;
  }

  /**
   * Deletes the events that the reader of a stream has received. Used for streams that cannot be resumed. The number of the
   * newest event is kept, because the number of the next event is derived from it.
   *
   * @returns The freed size.
   */
  release(stream: number, seq: number): number {
    const query = "SELECT SUM(LENGTH(frames)) AS size FROM event WHERE stream = ? AND seq <= ?";
    const size = this.#rows<{ size: number | null }>(query, stream, seq)[0]?.size ?? 0;
    if (size === 0) return 0;
    this.#sql.exec(`DELETE FROM event WHERE stream = ? AND seq <= ? AND (rank < 0 OR ${NOT_NEWEST})`, stream, seq);
    this.#sql.exec("UPDATE event SET frames = '' WHERE stream = ? AND seq <= ?", stream, seq);
    return size;
  }

  /**
   * Deletes ended streams that can no longer be resumed, and old progress and log messages. A stream is kept until all of
   * it has been sent to its connected readers.
   *
   * @returns The time until the next call is due, in milliseconds. Infinity if no streams remain.
   */
  collect({ nowMs, resumeMs, progressRetentionMs, readersOf }: Keeping): number {
    if (!this.#exists()) return Infinity;
    this.#sql.exec(`DELETE FROM event WHERE kind = 0 AND at < ? AND ${NOT_NEWEST}`, nowMs - progressRetentionMs);
    const query =
      "SELECT * FROM stream WHERE (kind IN (1, 2) OR EXISTS (SELECT 1 FROM event WHERE stream = id AND kind = 1)) " +
      "AND NOT EXISTS (SELECT 1 FROM event WHERE stream = id AND at >= ?)";
    const isBehind = (row: StoredStream) => readersOf(row).some(({ behind }) => behind);
    const isHeld = (row: StoredStream) => row.kind !== StreamKind.Call && readersOf(row).length > 0;
    for (const row of this.#rows<StoredStream>(query, nowMs - resumeMs)) {
      const { id } = row;
      if (isBehind(row)) continue;
      // The last event is kept, because the number of the next event is derived from it.
      if (isHeld(row)) this.#sql.exec("DELETE FROM event WHERE stream = ? AND seq < ?", id, this.last(id).seq);
      else this.drop(id);
    }
    const left = this.#rows<StoredStream>("SELECT * FROM stream");
    if (left.length === 0) return Infinity;
    return left.every((row) => isHeld(row) && !isBehind(row)) ? OPEN_MS : resumeMs;
  }

  /** Deletes the streams of a session, except those that are being written. */
  forget(session: number, isWritten: (stream: number) => boolean): void {
    for (const { id } of this.#rows<{ id: number }>("SELECT id FROM stream WHERE session = ?", session)) {
      if (!isWritten(id)) this.drop(id);
    }
  }

  /** Called when the storage of the object, including the tables, has been deleted. */
  reset(): void {
    this.#hasTables = false;
  }

  drop(stream: number): void {
    this.#sql.exec("DELETE FROM event WHERE stream = ?", stream);
    this.#sql.exec("DELETE FROM stream WHERE id = ?", stream);
  }

  #rows<Row>(query: string, ...bindings: readonly (number | string)[]): Row[] {
    return this.#exists() ? (this.#sql.exec(query, ...bindings).toArray() as Row[]) : [];
  }

  #exists(): boolean {
    if (this.#hasTables === undefined) {
      // An empty database has at most one page. Checking the size saves most sessions, which have no rows, reading a row.
      this.wasEmpty = this.#sql.databaseSize <= EMPTY_BYTES;
      this.#hasTables = !this.wasEmpty && this.#hasTable();
    }
    return this.#hasTables;
  }

  #hasTable(): boolean {
    return this.#sql.exec(FIND_LOG).toArray().length > 0;
  }

  #newest(): number {
    return this.#rows<{ id: number | null }>("SELECT MAX(id) AS id FROM stream")[0]?.id ?? 0;
  }
}

function within(session: number, stream: number | undefined): { where: string; bindings: number[] } {
  if (stream === undefined) return { where: "session = ?", bindings: [session] };
  return { where: "session = ? AND id = ?", bindings: [session, stream] };
}
