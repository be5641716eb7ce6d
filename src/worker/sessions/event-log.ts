/**
 * The event log of one session, in the object's SQLite database: what was said on its streams, as encoded SSE frames.
 * The tables are made when the first stream begins, so that a session that never streams stores nothing.
 *
 * @module
 */

import { isOwnStream } from "./event-id.ts";

/** A stream that has been begun. */
export interface StreamRow {
  readonly id: number;
  /** The requests served on it, as JSON text of their ids; none for a stream of the session's own. */
  readonly requests: string | null;
}

/** Frames of one turn. */
export interface EventRow {
  /** Number of the last event in it. */
  readonly seq: number;
  readonly frames: string;
  readonly isFinal: boolean;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS stream (id INTEGER PRIMARY KEY, requests TEXT);
  CREATE TABLE IF NOT EXISTS event (
    stream INTEGER, seq INTEGER, at INTEGER, final INTEGER, frames TEXT, PRIMARY KEY (stream, seq)
  ) WITHOUT ROWID;
`;

export class EventLog {
  readonly #sql: SqlStorage;
  #hasTables: boolean | undefined;
  #lastStream = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** A number no stream of this session has had: from the clock, since the log forgets what it has collected. */
  nextStream(kind: "call" | "own"): number {
    const next = Math.max(this.#lastStream + 1, Date.now(), this.#newest() + 1);
    this.#lastStream = isOwnStream(next) === (kind === "own") ? next : next + 1;
    return this.#lastStream;
  }

  begin(stream: number, requests: string | null): void {
    if (!this.#exists()) {
      this.#sql.exec(SCHEMA);
      this.#hasTables = true;
    }
    this.#sql.exec("INSERT OR IGNORE INTO stream VALUES (?, ?)", stream, requests);
  }

  append(stream: number, { seq, frames, isFinal }: EventRow): void {
    this.#sql.exec("INSERT INTO event VALUES (?, ?, ?, ?, ?)", stream, seq, Date.now(), isFinal ? 1 : 0, frames);
  }

  /** Nothing follows event `seq`, though it is no answer. */
  finish(stream: number, seq: number): void {
    const { rowsWritten } = this.#sql.exec("UPDATE event SET final = 1 WHERE stream = ? AND seq = ?", stream, seq);
    if (rowsWritten === 0) this.append(stream, { seq, frames: "", isFinal: true });
  }

  find(stream: number): StreamRow | undefined {
    if (!this.#exists()) return undefined;
    const [row] = this.#sql.exec("SELECT id, requests FROM stream WHERE id = ?", stream).toArray();
    return row as unknown as StreamRow | undefined;
  }

  /** What was said after an event. A row may begin with frames of that event or before it. */
  read(stream: number, after: number): EventRow[] {
    if (!this.#exists()) return [];
    const query = "SELECT seq, frames, final FROM event WHERE stream = ? AND seq > ? ORDER BY seq";
    return this.#sql
      .exec(query, stream, after)
      .toArray()
      .map((row) => ({ seq: Number(row.seq), frames: String(row.frames), isFinal: row.final === 1 }));
  }

  /** The last event of a stream. */
  last(stream: number): { readonly seq: number; readonly isFinal: boolean } {
    if (!this.#exists()) return { seq: 0, isFinal: false };
    const query = "SELECT seq, final FROM event WHERE stream = ? ORDER BY seq DESC LIMIT 1";
    const [row] = this.#sql.exec(query, stream).toArray();
    return { seq: Number(row?.seq ?? 0), isFinal: row?.final === 1 };
  }

  /** Streams of calls that have no final event. */
  unfinished(): StreamRow[] {
    if (!this.#exists()) return [];
    const query =
      "SELECT id, requests FROM stream WHERE requests IS NOT NULL AND NOT EXISTS " +
      "(SELECT 1 FROM event WHERE stream = id AND final = 1)";
    return this.#sql.exec(query).toArray() as unknown as StreamRow[];
  }

  /** Forgets streams that are over, and streams of the session's own, whose last event is older. True when any is left. */
  collect(beforeMs: number): boolean {
    if (!this.#exists()) return false;
    const query =
      "SELECT id FROM stream WHERE (requests IS NULL OR EXISTS (SELECT 1 FROM event WHERE stream = id AND final = 1)) " +
      "AND NOT EXISTS (SELECT 1 FROM event WHERE stream = id AND at >= ?)";
    for (const { id } of this.#sql.exec(query, beforeMs).toArray()) {
      this.#sql.exec("DELETE FROM event WHERE stream = ?", id);
      this.#sql.exec("DELETE FROM stream WHERE id = ?", id);
    }
    return this.#sql.exec("SELECT 1 FROM stream LIMIT 1").toArray().length > 0;
  }

  /** The tables are gone: everything stored was deleted. */
  reset(): void {
    this.#hasTables = false;
  }

  #exists(): boolean {
    this.#hasTables ??= this.#sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'event'").toArray().length > 0;
    return this.#hasTables;
  }

  #newest(): number {
    if (!this.#exists()) return 0;
    return Number(this.#sql.exec("SELECT MAX(id) AS id FROM stream").toArray()[0]?.id ?? 0);
  }
}
