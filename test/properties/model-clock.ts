/** Virtual time: events happen in the order of their moments, and each has finished before the next begins. */
import { setImmediate as nextTurn } from "node:timers/promises";

interface Event {
  readonly atMs: number;
  /** Events of one moment happen in the order in which they were added. */
  readonly order: number;
  readonly run: () => void;
}

export class Clock {
  nowMs = 0;
  /** A heap: no event is earlier than its parent at half its index. */
  readonly #events: Event[] = [];
  readonly #cancelled = new Set<number>();
  #order = 0;
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number in [0, 1). The same seed gives the same numbers (mulberry32). */
  readonly random = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  /** Adds an event and returns its number. */
  at(atMs: number, run: () => void): number {
    this.#order += 1;
    this.#push({ atMs: Math.max(atMs, this.nowMs), order: this.#order, run });
    return this.#order;
  }

  until(atMs: number): Promise<void> {
    return atMs <= this.nowMs ? Promise.resolve() : new Promise((resolve) => this.at(atMs, resolve));
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.nowMs + ms, resolve));
  }

  /** Runs until no event is left. Timers and random numbers of the program belong to this clock meanwhile. */
  async run(first: () => void): Promise<void> {
    const before = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
    const { random } = Math;
    Object.assign(globalThis, {
      setTimeout: (run: () => void, ms = 0) => this.at(this.nowMs + ms, run),
      clearTimeout: (order: number) => void this.#cancelled.add(order),
    });
    Math.random = this.random;
    try {
      first();
      await nextTurn();
      for (let next = this.#pop(); next; next = this.#pop()) {
        if (this.#cancelled.delete(next.order)) continue;
        this.nowMs = next.atMs;
        next.run();
        // All promises that follow from the event are settled before the next one.
        await nextTurn();
      }
    } finally {
      Object.assign(globalThis, before);
      Math.random = random;
    }
  }

  #push(event: Event): void {
    const events = this.#events;
    let at = events.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, events[parent] as Event)) break;
      events[at] = events[parent] as Event;
      at = parent;
    }
    events[at] = event;
  }

  #pop(): Event | undefined {
    const events = this.#events;
    const [first] = events;
    const last = events.pop();
    if (last === undefined || first === undefined || events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1] as Event, events[child] as Event)) child += 1;
      if (!isBefore(events[child] as Event, last)) break;
      events[at] = events[child] as Event;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
