/**
 * The object that counts the requests of one caller: in total, and for each session, method and tool.
 *
 * | key | value | written | deleted |
 * | --- | --- | --- | --- |
 * | `rates` | the counters, by name | at most once a second | with the database, by an alarm, when every counter is at zero |
 *
 * A counter is one number: the time at which it will be at zero if no more requests arrive. If the object is restarted, at
 * most the counts of the last second are lost. If the storage refuses, requests are counted in memory, and a restart loses
 * these counts.
 *
 * @module
 */
import type { RoleObject } from "../../object.ts";

/** A counter, and the number to add to it. */
export interface Count {
  readonly name: string;
  /** The counter to use in place of a new one if there are too many counters. Undefined if this counter is always kept. */
  readonly overflow?: string | undefined;
  /** The maximum number of requests in a burst. */
  readonly max: number;
  /** How long it takes until `max` requests are possible again, in milliseconds. */
  readonly perMs: number;
  readonly times: number;
}

/** The limit that a request exceeds. */
export interface Exceeded {
  /** The name of the counter, or the kind of the slots that are all taken. */
  readonly name: string;
  readonly retryAfterMs: number;
}

/** The method that the Worker calls. */
export interface RatesRpc {
  /** Counts a request, unless it exceeds one of the rates. Then it is not counted at all. */
  count(counts: readonly Count[]): Promise<Exceeded | undefined>;
}

const KEY = "rates";
/** The minimum time between two writes, in milliseconds. */
const STORE_MS = 1_000;
/**
 * The maximum number of counters, besides the counters that the options name. A caller can invent session ids and tool
 * names, which must not fill the memory. Counters are not evicted, because a caller could reset its own counters in this
 * way.
 * @limit count Counters of one principal for sessions and tools that the options do not name. Additional sessions share a
 * counter, and so do additional tools.
 */
const COUNTERS_MAX = 1_000;

export class RatesObject implements RoleObject, RatesRpc {
  readonly #storage: DurableObjectStorage;
  /** When each counter will be at zero, in milliseconds since 1970. */
  protected readonly freeAtMs = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasAlarm = false;
  #isRead = false;

  constructor({ storage }: DurableObjectState) {
    this.#storage = storage;
    try {
      this.#read();
    } catch (error) {
      reportRefusal(error);
    }
  }

  /** Adds the stored counters to those in memory. */
  #read(): void {
    const stored = this.#storage.kv.get<Record<string, number>>(KEY);
    for (const [name, atMs] of Object.entries(stored ?? {})) {
      this.freeAtMs.set(name, Math.max(atMs, this.freeAtMs.get(name) ?? 0));
    }
    this.#hasAlarm = stored !== undefined;
    this.#isRead = true;
  }

  async count(counts: readonly Count[]): Promise<Exceeded | undefined> {
    const nowMs = Date.now();
    const next = new Map<string, number>();
    const beyond = counts
      .map((each) => ({ name: each.name, retryAfterMs: this.#add(each, next, nowMs) }))
      .filter(({ retryAfterMs }) => retryAfterMs > 0)
      // The longest wait is returned, so that a client that waits does not exceed another rate afterwards.
      .sort((a, b) => b.retryAfterMs - a.retryAfterMs)[0];
    if (beyond) return beyond;
    for (const [name, atMs] of next) this.freeAtMs.set(name, atMs);
    this.keep();
    return undefined;
  }

  /** Schedules a write of the counters. */
  protected keep(): void {
    // What cannot be stored is stored with the next counts.
    this.#timer ??= setTimeout(() => void this.#store().catch(reportRefusal), STORE_MS);
  }

  async alarm(): Promise<void> {
    this.#hasAlarm = false;
    if (!this.#isRead) this.#read();
    this.#forget(Date.now());
    // Every address can have its own object, and even an empty database occupies storage.
    if (this.freeAtMs.size === 0) return this.#storage.deleteAll();
    await this.#store();
  }

  /**
   * Adds a count to the new counters in `next`, which are not in effect yet.
   *
   * @returns The time until the count is possible, in milliseconds. 0 or less if it is possible now.
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

  /** Removes counters that are at zero. */
  #forget(nowMs: number): void {
    for (const [name, atMs] of this.freeAtMs) if (atMs <= nowMs) this.freeAtMs.delete(name);
  }

  async #store(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isRead) this.#read();
    this.#forget(Date.now());
    // Without an alarm, the database is empty.
    if (this.freeAtMs.size === 0 && !this.#hasAlarm) return;
    if (!this.#hasAlarm) {
      // The alarm is set first, because without it the counters would never be deleted.
      await this.#storage.setAlarm(Math.max(...this.freeAtMs.values()));
      this.#hasAlarm = true;
    }
    this.#storage.kv.put(KEY, Object.fromEntries(this.freeAtMs));
  }
}

function reportRefusal(error: unknown): void {
  console.error("mcp-edge: requests are counted in memory, because they could not be stored", error);
}
