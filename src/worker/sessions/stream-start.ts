/**
 * Finds the position in a stream from which a socket receives events.
 *
 * @module
 */
import type { Attach } from "./bridge-messages.ts";
import { decodeCursor, type TagOf } from "./event-id.ts";
import type { Position, StreamEnd, StreamRow } from "./event-log.ts";
import type { StreamHost } from "./stream-host.ts";

/** The position from which a socket receives events, and the row of its stream if it is stored. */
export interface Start extends Position {
  readonly stream: number;
  readonly row?: StreamRow | undefined;
  /** The end of the stream's log, if it was looked up. */
  readonly end?: StreamEnd;
}

/**
 * Returns the position where a target begins, or undefined if its stream or event never existed in this session.
 *
 * @param running The streams of running calls, by number.
 */
export function findStart(
  target: Attach["target"],
  { log, session }: StreamHost,
  tagOf: TagOf,
  running: ReadonlyMap<number, unknown>,
): Start | undefined {
  /** Returns a position, or undefined for a stream of another session in the same object. */
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
  // A Worker that runs another release may send a kind that is unknown here.
  if (target.kind !== "standalone") return undefined;
  // A new stream takes over the waiting messages.
  const waiting = log.waiting(session);
  if (waiting !== undefined) log.adopt(waiting);
  return { stream: waiting ?? log.nextStream("own"), seq: 0, rank: 0 };
}
