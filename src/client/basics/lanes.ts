/** Runs work at the same time, but at most so many pieces of it. The others wait, in order. */
export class Lanes {
  #free: number;
  #waiting: (() => void)[] = [];
  /** How many of those that waited have begun: removing the first item of a long array would move all others. */
  #begun = 0;

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  /** Gives a lane to the next piece of work. */
  #next(): void {
    const next = this.#waiting[this.#begun];
    this.#begun += 1;
    if (!next || this.#begun > 1_000) {
      this.#waiting = this.#waiting.slice(this.#begun);
      this.#begun = 0;
    }
    if (next) next();
    else this.#free += 1;
  }
}
