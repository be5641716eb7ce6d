/**
 * What an isolate remembers about the documents of clients. Everyone can name any number of them, so what is forgotten to make
 * room belongs to the host that has the most.
 *
 * @module
 */

interface CachedDocument<T> {
  readonly value: T;
  readonly host: string;
  readonly untilMs: number;
}

export class DocumentCache<T> {
  readonly #max: number;
  readonly #ttlMs: number;
  readonly #kept = new Map<string, CachedDocument<T>>();

  constructor(max: number, ttlMs: number) {
    this.#max = max;
    this.#ttlMs = ttlMs;
  }

  get(id: string): T | undefined {
    const kept = this.#kept.get(id);
    return kept && Date.now() < kept.untilMs ? kept.value : undefined;
  }

  set(id: string, value: T): void {
    this.#kept.delete(id);
    if (this.#kept.size >= this.#max) this.#makeRoom();
    this.#kept.set(id, { value, host: new URL(id).host, untilMs: Date.now() + this.#ttlMs });
  }

  #makeRoom(): void {
    const nowMs = Date.now();
    for (const [id, { untilMs }] of this.#kept) if (nowMs >= untilMs) this.#kept.delete(id);
    if (this.#kept.size < this.#max) return;
    const byHost = Map.groupBy(this.#kept, ([, { host }]) => host);
    const [most = []] = [...byHost.values()].toSorted((one, other) => other.length - one.length);
    const [oldest] = most;
    if (oldest) this.#kept.delete(oldest[0]);
  }
}
