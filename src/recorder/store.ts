/**
 * The entries of a recording, in the order in which they began. Their number and size are limited.
 *
 * @module
 */
import type { LiveEntry } from "./assemble/live-entry.ts";
import { CHARACTERS_MAX, ENTRIES_MAX } from "./limits.ts";

/** The limits of a store. */
export interface StoreLimits {
  readonly entriesMax: number;
  readonly charactersMax: number;
}

export class EntryStore {
  readonly #entries = new Map<string, LiveEntry>();
  readonly #limits: StoreLimits;
  readonly #removed: (entry: LiveEntry) => void;
  #characters = 0;
  #lastId: number;
  #lastSeq = 0;

  /** @param removed Called with each removed entry. @param lastId The id that precedes the id of the first entry. */
  constructor(removed: (entry: LiveEntry) => void, limits: Partial<StoreLimits> = {}, lastId: number = 0) {
    this.#lastId = lastId;
    this.#removed = removed;
    this.#limits = { entriesMax: ENTRIES_MAX, charactersMax: CHARACTERS_MAX, ...limits };
  }

  /** The number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** The size of all entries, in characters. */
  get characters(): number {
    return this.#characters;
  }

  nextId(): string {
    this.#lastId += 1;
    return String(this.#lastId);
  }

  add(entry: LiveEntry): void {
    this.#entries.set(entry.id, entry);
    this.#characters += entry.characters;
    this.touch(entry);
    this.#bound();
  }

  get(id: string): LiveEntry | undefined {
    return this.#entries.get(id);
  }

  /** Returns all entries, oldest first. */
  all(): IterableIterator<LiveEntry> {
    return this.#entries.values();
  }

  /** Gives a changed entry a new `seq`. */
  touch(entry: LiveEntry): void {
    this.#lastSeq += 1;
    entry.seq = this.#lastSeq;
  }

  grow(entry: LiveEntry, characters: number): void {
    entry.characters += characters;
    if (!this.#entries.has(entry.id)) return;
    this.#characters += characters;
    this.#bound();
  }

  remove(entry: LiveEntry): void {
    if (!this.#entries.delete(entry.id)) return;
    this.#characters -= entry.characters;
    this.#removed(entry);
  }

  clear(): void {
    for (const entry of [...this.#entries.values()]) this.remove(entry);
  }

  /** Evicts the oldest entries while the store exceeds its limits. The newest entry is always kept. */
  #bound(): void {
    const { entriesMax, charactersMax } = this.#limits;
    for (const entry of this.#entries.values()) {
      if (this.#entries.size <= 1) return;
      if (this.#entries.size <= entriesMax && this.#characters <= charactersMax) return;
      this.remove(entry);
    }
  }
}
