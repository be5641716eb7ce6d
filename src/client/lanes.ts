/** Runs work at the same time, but at most so many pieces of it. The others wait, in order. */
export class Lanes {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The next piece of work takes over the lane.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
