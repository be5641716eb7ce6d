/**
 * The object that counts the requests of one caller, and stores the slots of its sessions and tasks.
 *
 * A slot is stored like a counter, as the time at which it becomes free. If the object is restarted, at most the slots of
 * the last second are lost.
 *
 * @module
 */

import { type Count, type Exceeded, RatesObject, type RatesRpc } from "./rates-object.ts";

/** The methods that the Worker calls. */
export interface SlotsRpc extends RatesRpc {
  /** Counts a request, and takes its slots. If it exceeds a rate, or no slot is free, the request is not counted at all. */
  count(counts: readonly Count[], slots?: readonly Slot[]): Promise<Exceeded | undefined>;
  /**
   * Takes a slot. If all slots are taken, resolves with the names of the sessions or tasks that hold them. After this list
   * was returned, it is empty for one second, unless a slot is given back.
   */
  take(slot: Slot): Promise<readonly string[] | undefined>;
  /** Gives slots back. */
  give(kind: Slot["kind"], names: readonly string[]): Promise<void>;
}

/** The prefix of the name of a slot whose session or task has no id yet. */
export const UNKNOWN_NAME = "?";

/** The prefix of the names under which slots are stored. The name of a counter never begins with it. */
const SLOT = "place of ";
/** The minimum time before the names of the holders are returned again, in milliseconds. */
const ASK_AGAIN_MS = 1_000;

export class SlotsObject extends RatesObject implements SlotsRpc {
  /** When the names of the holders may be returned again, by kind of slot, in milliseconds since 1970. */
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

  /** Returns a copy of the slots that are taken. */
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
 * @param taken The slots that are taken, each with the time at which it becomes free. The new slot is added.
 * @returns The time until a slot becomes free if none is given back, in milliseconds, or 0 if the slot was taken.
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
  /**
   * The name of the session or task that takes the slot. It begins with {@link UNKNOWN_NAME} if the session or task has no
   * id yet.
   */
  readonly name: string;
  readonly max: number;
  /** How long the slot is taken, in milliseconds, unless it is renewed. */
  readonly forMs: number;
  /** What the caller has too many of, for the error message. */
  readonly what: string;
}
