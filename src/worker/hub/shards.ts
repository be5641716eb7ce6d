/**
 * Computes the subject of a notification: a number that identifies the list, resource, elicitation or task, or the log. The
 * subject selects the shard of the hub that publishes the notification.
 *
 * @module
 */
import { fingerprint } from "../../core/basics/bytes.ts";
import type { ChangeFilter, ChangeNotification } from "../../core/protocol/change-notifications.ts";
import { uriKey } from "../../core/protocol/uri.ts";

/** Returns the subject: the fingerprint of a list kind, a URI, the id of an elicitation or task, or "log". */
export function describeSubject(notification: ChangeNotification): number {
  const { uri, id, kind } = notification as { readonly kind: string; readonly uri?: string; readonly id?: string };
  // If two subjects have the same fingerprint, a Worker that missed a notification for one receives notifications for both.
  return fingerprint(uri === undefined ? (id ?? kind) : uriKey(uri));
}

/** Splits a filter by shard. Shards that do not publish any notifications of the filter are absent. */
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
