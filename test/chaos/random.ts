/** Pseudo-random numbers that are the same for the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Consecutive seeds must produce unrelated numbers.
    this.#state = Math.imul(seed + 1, 0x9e3779b1);
  }

  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer, both ends inclusive. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  /** An integer, logarithmically distributed. @param from Above 0. */
  size(from: number, to: number): number {
    return Math.round(from * (to / from) ** this.next());
  }

  chance(part: number): boolean {
    return this.next() < part;
  }

  /** One of several choices, with a probability in proportion to its weight. */
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
