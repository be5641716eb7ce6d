/** A map that evicts its oldest entry when it is full. */
export class BoundedMap<Value> {
  readonly #max: number;
  readonly #values = new Map<string, Value>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** Sets a value and makes its key the newest. */
  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size <= this.#max) return;
    for (const oldest of this.#values.keys()) {
      this.#values.delete(oldest);
      break;
    }
  }

  delete(key: string): void {
    this.#values.delete(key);
  }

  values(): IterableIterator<Value> {
    return this.#values.values();
  }

  clear(): void {
    this.#values.clear();
  }
}
