/**
 * The subject of a notice is a number derived from what the notice is about. It selects the shard of the hub that
 * publishes the notice.
 *
 * @module
 */
import { fingerprint } from "../../core/basics/bytes.ts";
import type { Notice, NoticeFilter } from "../../core/protocol/notices.ts";
import { uriKey } from "../../core/protocol/uri.ts";

/** Returns the subject of a notice: the fingerprint of a list kind, a URI, the id of an elicitation or task, or "log". */
export function subjectOf(notice: Notice): number {
  const { uri, id, kind } = notice as { readonly kind: string; readonly uri?: string; readonly id?: string };
  // Two texts may have the same fingerprint. Then a Worker that missed one of them is sent a notice for both.
  return fingerprint(uri === undefined ? (id ?? kind) : uriKey(uri));
}

/** Splits a filter into the part for each shard. Shards with nothing to publish for it are absent. */
export function splitFilter(filter: NoticeFilter, shards: number): Map<number, NoticeFilter> {
  const { lists, uris, elicitations = [], tasks = [], logLevel } = filter;
  const parts = new Map<number, NoticeFilter>();
  for (let shard = 0; shard < shards; shard += 1) {
    const isHere = (text: string) => fingerprint(text) % shards === shard;
    const wanted = {
      lists: lists.filter(isHere),
      uris: uris.filter((uri) => isHere(uriKey(uri))),
      elicitations: elicitations.filter(isHere),
      tasks: tasks.filter(isHere),
      logLevel: isHere("log") ? logLevel : undefined,
    };
    if (Object.values(wanted).some((each) => each?.length)) parts.set(shard, wanted);
  }
  return parts;
}
