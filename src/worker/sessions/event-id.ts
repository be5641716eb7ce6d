/**
 * Ids of SSE events: which stream of which session, and which event of it. At most 64 visible characters.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */

/** A place in a stream: right after event `seq`; 0 is its beginning. */
export interface Cursor {
  readonly stream: number;
  readonly seq: number;
}

/** An event id as text. @param tag Of the session; see {@link sessionTag}. */
export function encodeCursor(tag: string, { stream, seq }: Cursor): string {
  return `${tag}-${stream.toString(36)}-${seq.toString(36)}`;
}

/** The place an event id names, or undefined when it is none of this session. */
export function decodeCursor(tag: string, text: string): Cursor | undefined {
  const parts = /^([0-9a-z]+)-([0-9a-z]{1,10})-([0-9a-z]{1,10})$/.exec(text);
  if (!parts || parts[1] !== tag) return undefined;
  const cursor = { stream: Number.parseInt(parts[2] ?? "", 36), seq: Number.parseInt(parts[3] ?? "", 36) };
  return encodeCursor(tag, cursor) === text ? cursor : undefined;
}

/** Streams of the session itself have odd numbers, those of calls even ones. */
export function isOwnStream(stream: number): boolean {
  return stream % 2 === 1;
}

/** Tells the ids of one session from those of another. No secret: only who owns the session gets to use it (FNV-1a). */
export function sessionTag(objectId: string): string {
  let hash = 0x811c9dc5;
  for (const character of objectId) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return (hash >>> 0).toString(36);
}
