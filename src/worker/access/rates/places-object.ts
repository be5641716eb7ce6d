/**
 * The object that counts the requests of one caller, with the places of its sessions and tasks.
 *
 * A place is kept like a counter: as the time at which it is free. So a lost object forgets at most the places of the last
 * second.
 *
 * @module
 */

import { type Count, type Exceeded, RatesObject, type RatesRpc } from "./rates-object.ts";

/** The methods that the Worker calls. */
export interface PlacesRpc extends RatesRpc {
  /** Counts a request, and takes its places. If it is beyond a rate, or a place is missing, it counts for nothing. */
  count(counts: readonly Count[], places?: readonly Place[]): Promise<Exceeded | undefined>;
  /**
   * Takes a place. If all are taken, resolves with the names of the sessions or tasks that hold them. The list is empty for a
   * second after it was returned, unless a place is given back.
   */
  take(place: Place): Promise<readonly string[] | undefined>;
  /** Gives places back. */
  give(kind: Place["kind"], names: readonly string[]): Promise<void>;
}

/** Begins the name of a place whose session or task has no id yet. */
export const UNKNOWN_NAME = "?";

/** Begins the names of places. No counter has such a name. */
const PLACE = "place of ";
/** Milliseconds for which the names of the holders are not returned again. */
const ASK_AGAIN_MS = 1_000;

export class PlacesObject extends RatesObject implements PlacesRpc {
  /** For each kind of place, the time from which the names of its holders may be returned again, in milliseconds since 1970. */
  readonly #askAgainAtMs = new Map<string, number>();

  override async count(counts: readonly Count[], places: readonly Place[] = []): Promise<Exceeded | undefined> {
    if (places.length === 0) return super.count(counts);
    const nowMs = Date.now();
    const taken = this.#takenAt(nowMs);
    for (const place of places) {
      const retryAfterMs = take(place, taken, nowMs);
      if (retryAfterMs > 0) return { name: place.kind, retryAfterMs };
    }
    const beyond = await super.count(counts);
    if (!beyond) this.#set(taken);
    return beyond;
  }

  async take(place: Place): Promise<readonly string[] | undefined> {
    const nowMs = Date.now();
    const taken = this.#takenAt(nowMs);
    if (take(place, taken, nowMs) === 0) {
      this.#set(taken);
      return undefined;
    }
    if (nowMs < (this.#askAgainAtMs.get(place.kind) ?? 0)) return [];
    this.#askAgainAtMs.set(place.kind, nowMs + ASK_AGAIN_MS);
    return listNames(place.kind, taken);
  }

  async give(kind: Place["kind"], names: readonly string[]): Promise<void> {
    const taken = this.#takenAt(Date.now());
    for (const name of names) taken.delete(toKey(kind, name));
    this.#askAgainAtMs.delete(kind);
    this.#set(taken);
  }

  /** Returns the places that are not free, as a copy. */
  #takenAt(nowMs: number): Map<string, number> {
    return new Map([...this.freeAtMs].filter(([key, atMs]) => key.startsWith(PLACE) && atMs > nowMs));
  }

  #set(taken: ReadonlyMap<string, number>): void {
    for (const key of this.freeAtMs.keys()) if (key.startsWith(PLACE) && !taken.has(key)) this.freeAtMs.delete(key);
    for (const [key, atMs] of taken) this.freeAtMs.set(key, atMs);
    this.keep();
  }
}

function toKey(kind: string, name: string): string {
  return `${PLACE}${kind} ${name}`;
}

function listNames(kind: string, taken: ReadonlyMap<string, number>): readonly string[] {
  const prefix = toKey(kind, "");
  return [...taken.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

/**
 * Takes a place.
 *
 * @param taken The places in use, each with the time at which it is free again. The new one is added.
 * @returns Milliseconds after which there is a place if none is given back, or 0 if it was taken.
 */
function take({ kind, name, max, forMs }: Place, taken: Map<string, number>, nowMs: number): number {
  const key = toKey(kind, name);
  if (!taken.has(key)) {
    const names = listNames(kind, taken);
    const unknown = name.startsWith(UNKNOWN_NAME) ? undefined : names.find((each) => each.startsWith(UNKNOWN_NAME));
    if (unknown !== undefined) taken.delete(toKey(kind, unknown));
    else if (names.length >= max) return Math.min(...names.map((each) => taken.get(toKey(kind, each)) ?? 0)) - nowMs;
  }
  taken.set(key, nowMs + forMs);
  return 0;
}

/** A place that a request takes. */
export interface Place {
  readonly kind: "session" | "task";
  /** What takes the place. It begins with {@link UNKNOWN_NAME} if the id of the session or task is not known yet. */
  readonly name: string;
  readonly max: number;
  /** Milliseconds after which the place is free, unless it is taken again. */
  readonly forMs: number;
  /** What the caller has too many of, for the error. */
  readonly what: string;
}
