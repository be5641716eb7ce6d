/**
 * The object that counts the requests of one caller: all of them, and those of each session, method and tool.
 *
 * | key | value | written | deleted |
 * | --- | --- | --- | --- |
 * | `rates` | the counters, by name | at most once a second | with the database, by an alarm, when every counter is
 * back at its start |
 *
 * A counter is one number: the time at which it is back at its start if nothing more comes. If the object is lost, it
 * forgets at most the last second.
 *
 * @module
 */
import type { RoleObject } from "../../object.ts";

/** A counter, and how often it counts now. */
export interface Count {
  readonly name: string;
  /** The counter to use in place of a new one when there are too many. Undefined if this one is always kept. */
  readonly overflow?: string | undefined;
  /** The maximum number of requests at once. */
  readonly max: number;
  /** Milliseconds in which `max` requests become possible again. */
  readonly perMs: number;
  readonly times: number;
}

/** What a request is beyond. */
export interface Exceeded {
  /** The name of the counter, or the kind of the slots that are all taken. */
  readonly name: string;
  readonly retryAfterMs: number;
}

/** The method that the Worker calls. */
export interface RatesRpc {
  /** Counts a request, unless it is beyond one of the rates; then it counts for none of them. */
  count(counts: readonly Count[]): Promise<Exceeded | undefined>;
}

const KEY = "rates";
/** Milliseconds between two writes. */
const STORE_MS = 1_000;
/**
 * The maximum number of counters, besides those that the options name. A caller can invent session ids and names of
 * tools, which must not fill the memory. Counters are not removed to make space: a caller could start its own ones
 * again in this way.
 * @limit count Counters of one principal for sessions and tools that the options do not name. Further ones share a
 * counter.
 */
const COUNTERS_MAX = 1_000;

export class RatesObject implements RoleObject, RatesRpc {
  readonly #storage: DurableObjectStorage;
  /** When each counter is back at its start, in milliseconds since 1970. */
  protected readonly freeAtMs: Map<string, number>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasAlarm: boolean;

  constructor({ storage }: DurableObjectState) {
    this.#storage = storage;
    const stored = storage.kv.get<Record<string, number>>(KEY);
    this.freeAtMs = new Map(Object.entries(stored ?? {}));
    this.#hasAlarm = stored !== undefined;
  }

  async count(counts: readonly Count[]): Promise<Exceeded | undefined> {
    const nowMs = Date.now();
    const next = new Map<string, number>();
    const beyond = counts
      .map((each) => ({ name: each.name, retryAfterMs: this.#add(each, next, nowMs) }))
      .filter(({ retryAfterMs }) => retryAfterMs > 0)
      // The one that takes longest, so that a client that waits does not meet the next one.
      .sort((a, b) => b.retryAfterMs - a.retryAfterMs)[0];
    if (beyond) return beyond;
    for (const [name, atMs] of next) this.freeAtMs.set(name, atMs);
    this.keep();
    return undefined;
  }

  /** Stores the counters soon. */
  protected keep(): void {
    this.#timer ??= setTimeout(() => this.#store(), STORE_MS);
  }

  async alarm(): Promise<void> {
    this.#hasAlarm = false;
    this.#forget(Date.now());
    // Every address can have an object, and an empty database is stored too.
    if (this.freeAtMs.size === 0) return this.#storage.deleteAll();
    this.#store();
  }

  /**
   * Adds to a counter among the next ones, which are not in use yet.
   *
   * @returns Milliseconds after which this is possible. Not above 0 if it is possible now.
   */
  #add({ name, overflow, max, perMs, times }: Count, next: Map<string, number>, nowMs: number): number {
    const isNew = !this.freeAtMs.has(name) && !next.has(name);
    const own = overflow !== undefined && isNew && this.#isFull(next.size, nowMs) ? overflow : name;
    const freeAtMs = next.get(own) ?? this.freeAtMs.get(own) ?? nowMs;
    const atMs = Math.max(nowMs, freeAtMs) + (times * perMs) / max;
    next.set(own, atMs);
    return atMs - nowMs - perMs;
  }

  #isFull(more: number, nowMs: number): boolean {
    if (this.freeAtMs.size + more < COUNTERS_MAX) return false;
    this.#forget(nowMs);
    return this.freeAtMs.size + more >= COUNTERS_MAX;
  }

  /** Removes counters that are back at their start. */
  #forget(nowMs: number): void {
    for (const [name, atMs] of this.freeAtMs) if (atMs <= nowMs) this.freeAtMs.delete(name);
  }

  #store(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#forget(Date.now());
    // Without an alarm, nothing is stored yet.
    if (this.freeAtMs.size === 0 && !this.#hasAlarm) return;
    this.#storage.kv.put(KEY, Object.fromEntries(this.freeAtMs));
    if (this.#hasAlarm) return;
    this.#hasAlarm = true;
    void this.#storage.setAlarm(Math.max(...this.freeAtMs.values()));
  }
}
