/** Runs pieces of work concurrently, up to a maximum number. The other pieces wait, and start in the order in which they arrived. */
export class ConcurrencyLimit {
  #free: number;
  #waiting: (() => void)[] = [];
  /** The number of items at the start of `#waiting` that have started. Removing the first item of a long array would be slow. */
  #started = 0;

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #startNext(): void {
    const next = this.#waiting[this.#started];
    this.#started += 1;
    if (!next || this.#started > 1_000) {
      this.#waiting = this.#waiting.slice(this.#started);
      this.#started = 0;
    }
    if (next) next();
    else this.#free += 1;
  }
}
