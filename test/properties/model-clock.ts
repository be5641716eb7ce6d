/** Virtual time: events happen in the order of their moments, and each has finished before the next begins. */
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";

interface Event {
  readonly atMs: number;
  /** Events of one moment happen in the order in which they were added. */
  readonly order: number;
  readonly run: () => void;
}

/** The clock of the program that runs. Programs outside a model, such as the servers of an earlier test file, have none. */
const current = new AsyncLocalStorage<Clock>();

/** Returns true if the caller was started by a model. */
export const isInModel = () => current.getStore() !== undefined;

const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
const { random } = Math;

/** The number of models that run. The globals are replaced meanwhile. */
let running = 0;

function replaceGlobals(): void {
  running += 1;
  Object.assign(globalThis, {
    setTimeout: (run: (...rest: unknown[]) => void, ms = 0, ...rest: unknown[]) => {
      const clock = current.getStore();
      return clock ? clock.at(clock.nowMs + ms, () => run(...rest)) : real.setTimeout(() => run(...rest), ms);
    },
    clearTimeout: (timer: number) => {
      const clock = current.getStore();
      if (clock) clock.cancel(timer);
      else real.clearTimeout(timer);
    },
  });
  Math.random = () => current.getStore()?.random() ?? random();
}

function restoreGlobals(): void {
  running -= 1;
  if (running > 0) return;
  Object.assign(globalThis, real);
  Math.random = random;
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

  cancel(event: number): void {
    this.#cancelled.add(event);
  }

  /**
   * Runs until no event is left. Timers and random numbers of the program belong to this clock. What else this process runs keeps its
   * own: its timers would otherwise become events, and one that starts again each time would never let this run end.
   */
  run(first: () => void): Promise<void> {
    return current.run(this, async () => {
      replaceGlobals();
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
        restoreGlobals();
      }
    });
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
