/**
 * Finds the entries that belong together: questions and answers, resumed streams, rounds, tasks, repetitions.
 *
 * Ids are secrets, so that only hashes of them are kept.
 *
 * @module
 */
import { LINKS_MAX } from "../limits.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { EntryFacts, LiveEntry } from "./live-entry.ts";

/** A question of the server that waits for its answer. */
export interface PendingQuestion {
  readonly entryId: string;
  readonly method: string;
}

/** A call of an HTTP+SSE client, whose answer arrives on its stream. */
export interface PendingCall {
  readonly entry: LiveEntry;
  /** Called with the answer. */
  readonly answer: (message: unknown, atMs: number) => void;
}

export class Links {
  /** By session and request id. */
  readonly questions: BoundedMap<PendingQuestion> = new BoundedMap(LINKS_MAX);
  readonly calls: BoundedMap<PendingCall> = new BoundedMap(LINKS_MAX);
  /** The entry in which an event was sent first, by the hash of its id. */
  readonly events: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  /** The entry whose result contained a sealed state, by its hash. */
  readonly states: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  /** The entry that created a task, by the hash of its id. */
  readonly tasks: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  /** The first entry with an idempotency key, by its hash. */
  readonly keys: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  /** Client and version of a session, by the hash of its id. */
  readonly sessions: BoundedMap<EntryFacts> = new BoundedMap(LINKS_MAX);

  clear(): void {
    for (const map of [this.questions, this.calls, this.events, this.states, this.tasks, this.keys]) map.clear();
  }
}
