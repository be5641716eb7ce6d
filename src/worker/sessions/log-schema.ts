/**
 * The tables of the event log. Their names carry the version of their layout, so that knowing it costs no row.
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

/** Layout 1: one session to an object, one row to the frames of a turn however long they are. */
const FROM_1 = `
  ${TABLES}
  INSERT INTO stream_2 SELECT id, 0, CASE WHEN requests IS NULL THEN 1 ELSE 0 END, requests FROM stream;
  INSERT INTO event_2 SELECT stream, seq, 0, at, final, frames FROM event;
  DROP TABLE event;
  DROP TABLE stream;
`;

/** Whether there is a log. Brings one of an older layout to this one. */
export function openTables(sql: SqlStorage): boolean {
  const names = sql.exec("SELECT name FROM sqlite_master WHERE name IN ('event', 'event_2')").toArray();
  if (names.length === 0) return false;
  if (!names.some(({ name }) => name === "event_2")) sql.exec(FROM_1);
  return true;
}

export function createTables(sql: SqlStorage): void {
  sql.exec(TABLES);
}
