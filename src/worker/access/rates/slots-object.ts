/**
 * The object that counts the requests of one caller, with the slots of its sessions and tasks.
 *
 * A slot is kept like a counter: as the time at which it is free. So a lost object forgets at most the slots of the last
 * second.
 *
 * @module
 */

import { type Count, type Exceeded, RatesObject, type RatesRpc } from "./rates-object.ts";

/** The methods that the Worker calls. */
export interface SlotsRpc extends RatesRpc {
  /** Counts a request, and takes its slots. If it is beyond a rate, or a slot is missing, it counts for nothing. */
  count(counts: readonly Count[], slots?: readonly Slot[]): Promise<Exceeded | undefined>;
  /**
   * Takes a slot. If all are taken, resolves with the names of the sessions or tasks that hold them. The list is empty for a
   * second after it was returned, unless a slot is given back.
   */
  take(slot: Slot): Promise<readonly string[] | undefined>;
  /** Gives slots back. */
  give(kind: Slot["kind"], names: readonly string[]): Promise<void>;
}

/** The prefix of the name of a slot whose session or task has no id yet. */
export const UNKNOWN_NAME = "?";

/** The prefix of the stored names of slots. No counter has such a name. */
const SLOT = "place of ";
/** Milliseconds for which the names of the holders are not returned again. */
const ASK_AGAIN_MS = 1_000;

export class SlotsObject extends RatesObject implements SlotsRpc {
  /** For each kind of slot, the time from which the names of its holders may be returned again, in milliseconds since 1970. */
  readonly #askAgainAtMs = new Map<string, number>();

  override async count(counts: readonly Count[], slots: readonly Slot[] = []): Promise<Exceeded | undefined> {
    if (slots.length === 0) return super.count(counts);
    const nowMs = Date.now();
    const taken = this.#takenAt(nowMs);
    for (const slot of slots) {
      const retryAfterMs = take(slot, taken, nowMs);
      if (retryAfterMs > 0) return { name: slot.kind, retryAfterMs };
    }
    const beyond = await super.count(counts);
    if (!beyond) this.#set(taken);
    return beyond;
  }

  async take(slot: Slot): Promise<readonly string[] | undefined> {
    const nowMs = Date.now();
    const taken = this.#takenAt(nowMs);
    if (take(slot, taken, nowMs) === 0) {
      this.#set(taken);
      return undefined;
    }
    if (nowMs < (this.#askAgainAtMs.get(slot.kind) ?? 0)) return [];
    this.#askAgainAtMs.set(slot.kind, nowMs + ASK_AGAIN_MS);
    return listNames(slot.kind, taken);
  }

  async give(kind: Slot["kind"], names: readonly string[]): Promise<void> {
    const taken = this.#takenAt(Date.now());
    for (const name of names) taken.delete(toKey(kind, name));
    this.#askAgainAtMs.delete(kind);
    this.#set(taken);
  }

  /** Returns the slots that are not free, as a copy. */
  #takenAt(nowMs: number): Map<string, number> {
    return new Map([...this.freeAtMs].filter(([key, atMs]) => key.startsWith(SLOT) && atMs > nowMs));
  }

  #set(taken: ReadonlyMap<string, number>): void {
    for (const key of this.freeAtMs.keys()) if (key.startsWith(SLOT) && !taken.has(key)) this.freeAtMs.delete(key);
    for (const [key, atMs] of taken) this.freeAtMs.set(key, atMs);
    this.keep();
  }
}

function toKey(kind: string, name: string): string {
  return `${SLOT}${kind} ${name}`;
}

function listNames(kind: string, taken: ReadonlyMap<string, number>): readonly string[] {
  const prefix = toKey(kind, "");
  return [...taken.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

/**
 * Takes a slot.
 *
 * @param taken The slots in use, each with the time at which it is free again. The new one is added.
 * @returns Milliseconds after which there is a slot if none is given back, or 0 if it was taken.
 */
function take({ kind, name, max, forMs }: Slot, taken: Map<string, number>, nowMs: number): number {
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

/** A slot that a request takes. */
export interface Slot {
  readonly kind: "session" | "task";
  /** What takes the slot. It begins with {@link UNKNOWN_NAME} if the id of the session or task is not known yet. */
  readonly name: string;
  readonly max: number;
  /** Milliseconds after which the slot is free, unless it is taken again. */
  readonly forMs: number;
  /** What the caller has too many of, for the error. */
  readonly what: string;
}
