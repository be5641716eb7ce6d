/**
 * The tables of the event log. Their names contain the version of the layout, so that it needs no row of its own.
 *
 * @module
 */

const TABLES = `
  CREATE TABLE stream_2 (id INTEGER PRIMARY KEY, session INTEGER, kind INTEGER, requests TEXT);
  CREATE TABLE event_2 (
    stream INTEGER, seq INTEGER, rank INTEGER, at INTEGER, kind INTEGER, frames TEXT,
    PRIMARY KEY (stream, seq, rank)
  ) WITHOUT ROWID;
`;

/** Migrates layout 1, which had one session per object, and one row for the frames of a turn, however long. */
const FROM_1 = `
  ${TABLES}
  INSERT INTO stream_2 SELECT id, 0, CASE WHEN requests IS NULL THEN 1 ELSE 0 END, requests FROM stream;
  INSERT INTO event_2 SELECT stream, seq, 0, at, final, frames FROM event;
  DROP TABLE event;
  DROP TABLE stream;
`;

/** Returns whether the object has a log. Migrates a log with an older layout. */
export function openTables(sql: SqlStorage): boolean {
  const names = sql.exec("SELECT name FROM sqlite_master WHERE name IN ('event', 'event_2')").toArray();
  if (names.length === 0) return false;
  if (!names.some(({ name }) => name === "event_2")) sql.exec(FROM_1);
  return true;
}

export function createTables(sql: SqlStorage): void {
  sql.exec(TABLES);
}
