/** Numbers that look random and come again from the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Seeds in a row are to have little in common.
    this.#state = Math.imul(seed + 1, 0x9e3779b1);
  }

  /** From 0 up to 1, which it never is. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  /** Likewise, with small ones as likely as large ones. @param from Above 0. */
  size(from: number, to: number): number {
    return Math.round(from * (to / from) ** this.next());
  }

  chance(part: number): boolean {
    return this.next() < part;
  }

  /** One of several, each as likely as its weight says. */
  pick<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let at = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      at -= weight;
      if (at < 0) return value;
    }
    throw new Error("Nothing to choose from.");
  }

  list<T>(length: number, make: (index: number) => T): T[] {
    return Array.from({ length }, (_, index) => make(index));
  }
}
