/**
 * Subjects: what a notice is about, as a number. It says which shard of a hub tells of it.
 *
 * @module
 */
import { fingerprint } from "../../core/protocol/bytes.ts";
import type { Notice, NoticeFilter } from "../../core/protocol/notices.ts";

/** What a notice is about: a list kind, a URI, the id of an elicitation or task, or the log. */
export function subjectOf(notice: Notice): number {
  const { uri, id, kind } = notice as { readonly kind: string; readonly uri?: string; readonly id?: string };
  // Two texts may share a number: then both are told where one was missed.
  return fingerprint(uri ?? id ?? kind);
}

/** A filter as what each shard is asked for. Shards it does not concern are absent. */
export function partsOf(filter: NoticeFilter, shards: number): Map<number, NoticeFilter> {
  const { lists, uris, elicitations = [], tasks = [], logLevel } = filter;
  const parts = new Map<number, NoticeFilter>();
  for (let shard = 0; shard < shards; shard += 1) {
    const isHere = (text: string) => fingerprint(text) % shards === shard;
    const wanted = {
      lists: lists.filter(isHere),
      uris: uris.filter(isHere),
      elicitations: elicitations.filter(isHere),
      tasks: tasks.filter(isHere),
      logLevel: isHere("log") ? logLevel : undefined,
    };
    if (Object.values(wanted).some((each) => each?.length)) parts.set(shard, wanted);
  }
  return parts;
}
