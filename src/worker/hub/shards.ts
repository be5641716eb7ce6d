/**
 * The subject of a notification is a number derived from what the notification is about. It selects the shard of the hub that
 * publishes the notification.
 *
 * @module
 */
import { fingerprint } from "../../core/basics/bytes.ts";
import type { ChangeFilter, ChangeNotification } from "../../core/protocol/change-notifications.ts";
import { uriKey } from "../../core/protocol/uri.ts";

/** Returns the subject of a notification: the fingerprint of a list kind, a URI, the id of an elicitation or task, or "log". */
export function describeSubject(notification: ChangeNotification): number {
  const { uri, id, kind } = notification as { readonly kind: string; readonly uri?: string; readonly id?: string };
  // Two texts may have the same fingerprint. Then a Worker that missed one of them is sent a notification for both.
  return fingerprint(uri === undefined ? (id ?? kind) : uriKey(uri));
}

/** Splits a filter into the part for each shard. Shards with nothing to publish for it are absent. */
export function splitFilter(filter: ChangeFilter, shards: number): Map<number, ChangeFilter> {
  const { lists, uris, elicitations = [], tasks = [], logLevel } = filter;
  const parts = new Map<number, ChangeFilter>();
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
