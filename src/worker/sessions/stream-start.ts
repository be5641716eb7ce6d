/**
 * Finds the position in a stream where a socket begins.
 *
 * @module
 */
import type { Attach } from "./bridge-messages.ts";
import { decodeCursor, type TagOf } from "./event-id.ts";
import type { Position, StreamEnd, StreamRow } from "./event-log.ts";
import type { StreamHost } from "./stream-host.ts";

/** The position where a socket begins, and the row of its stream if there is one. */
export interface Start extends Position {
  readonly stream: number;
  readonly row?: StreamRow | undefined;
  /** The end of the stream's log, if it was looked up. */
  readonly end?: StreamEnd;
}

/**
 * Returns where a target begins, or undefined if it names a stream or event that this session never had.
 *
 * @param running The streams of the calls that are running.
 */
export function findStart(
  target: Attach["target"],
  { log, session }: StreamHost,
  tagOf: TagOf,
  running: ReadonlyMap<number, unknown>,
): Start | undefined {
  /** Returns a position. Returns undefined for a stream of another session in the same object. */
  const startAt = (stream: number, seq = 0, rank = 0): Start | undefined => {
    const row = running.has(stream) ? undefined : log.find(stream);
    return row && row.session !== session ? undefined : { stream, seq, rank, row };
  };
  if (target.kind === "call") return startAt(target.stream);
  if (target.kind === "again") return startAt(target.stream, target.after, target.rank);
  if (target.kind === "resume") {
    const cursor = decodeCursor(target.lastEventId, tagOf);
    const start = cursor && startAt(cursor.stream, cursor.seq);
    if (!start || !(start.row || running.has(start.stream))) return start;
    const end = log.last(start.stream);
    return start.seq > end.seq ? undefined : { ...start, end };
  }
  // A Worker of another release may ask for a kind that this one does not know.
  if (target.kind !== "standalone") return undefined;
  // A new stream takes over the messages that wait for one.
  const waiting = log.waiting(session);
  if (waiting !== undefined) log.adopt(waiting);
  return { stream: waiting ?? log.nextStream("own"), seq: 0, rank: 0 };
}
