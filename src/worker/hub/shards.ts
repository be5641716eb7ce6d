/**
 * Subjects: what a notice is about, as a number. It says which shard of a hub tells of it.
 *
 * @module
 */
import type { Notice, NoticeFilter } from "../../core/protocol/notices.ts";

/** What a notice is about: a list kind, a URI, the id of an elicitation, or the log. */
export function subjectOf(notice: Notice): number {
  const { uri, id, kind } = notice as { readonly kind: string; readonly uri?: string; readonly id?: string };
  return numberOf(uri ?? id ?? kind);
}

/** The same in every isolate. Two texts may share a number: then both are told where one was missed (FNV-1a). */
function numberOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}

/** A filter as what each shard is asked for. Shards it does not concern are absent. */
export function partsOf(filter: NoticeFilter, shards: number): Map<number, NoticeFilter> {
  const { lists, uris, elicitations = [], logLevel } = filter;
  const parts = new Map<number, NoticeFilter>();
  for (let shard = 0; shard < shards; shard += 1) {
    const isHere = (text: string) => numberOf(text) % shards === shard;
    const wanted = {
      lists: lists.filter(isHere),
      uris: uris.filter(isHere),
      elicitations: elicitations.filter(isHere),
      logLevel: isHere("log") ? logLevel : undefined,
    };
    if (Object.values(wanted).some((each) => each?.length)) parts.set(shard, wanted);
  }
  return parts;
}
