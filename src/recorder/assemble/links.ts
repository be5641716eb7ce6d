/**
 * Stores which entries belong together: questions and answers, resumed streams, rounds, tasks, repeated calls.
 *
 * Session ids, event ids and task ids are secrets, so only their hashes are stored.
 *
 * @module
 */
import { LINKS_MAX } from "../limits.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { EntryFacts, LiveEntry } from "./live-entry.ts";

/** A question of the server that has not been answered yet. */
export interface PendingQuestion {
  readonly entryId: string;
  readonly method: string;
}

/** A call of an HTTP+SSE client (2024-11-05), whose response arrives on the stream of the session. */
export interface PendingCall {
  readonly entry: LiveEntry;
  /** Called with the response. */
  readonly answer: (message: unknown, atMs: number) => void;
}

export class Links {
  /** The pending questions, by session and request id. */
  readonly questions: BoundedMap<PendingQuestion> = new BoundedMap(LINKS_MAX);
  readonly calls: BoundedMap<PendingCall> = new BoundedMap(LINKS_MAX);
  /** The entry in which an event was first sent, by the hash of the event id. */
  readonly events: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  /** The entry whose result contained a sealed state, by the hash of the state. */
  readonly states: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  /** The entry that created a task, by the hash of the task id. */
  readonly tasks: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  /** The first entry with an idempotency key, by the hash of the key. */
  readonly keys: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  /** The client and version of a session, by the hash of the session id. */
  readonly sessions: BoundedMap<EntryFacts> = new BoundedMap(LINKS_MAX);

  clear(): void {
    for (const map of [this.questions, this.calls, this.events, this.states, this.tasks, this.keys]) map.clear();
  }
}
