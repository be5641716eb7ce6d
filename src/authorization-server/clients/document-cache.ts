/**
 * The cache of an isolate for metadata documents. Anyone can name any number of URLs, so a full cache evicts an entry of the host
 * that has the most entries.
 *
 * @module
 */

interface CachedDocument<T> {
  readonly value: T;
  readonly host: string;
  readonly untilMs: number;
}

/** A cache with a maximum number of entries, keyed by URL. */
export class DocumentCache<T> {
  readonly #max: number;
  readonly #ttlMs: number;
  readonly #cached = new Map<string, CachedDocument<T>>();

  constructor(max: number, ttlMs: number) {
    this.#max = max;
    this.#ttlMs = ttlMs;
  }

  get(id: string): T | undefined {
    const cached = this.#cached.get(id);
    return cached && Date.now() < cached.untilMs ? cached.value : undefined;
  }

  set(id: string, value: T): void {
    this.#cached.delete(id);
    if (this.#cached.size >= this.#max) this.#makeRoom();
    this.#cached.set(id, { value, host: new URL(id).host, untilMs: Date.now() + this.#ttlMs });
  }

  #makeRoom(): void {
    const nowMs = Date.now();
    for (const [id, { untilMs }] of this.#cached) if (nowMs >= untilMs) this.#cached.delete(id);
    if (this.#cached.size < this.#max) return;
    const byHost = Map.groupBy(this.#cached, ([, { host }]) => host);
    const [most = []] = [...byHost.values()].toSorted((one, other) => other.length - one.length);
    const [oldest] = most;
    if (oldest) this.#cached.delete(oldest[0]);
  }
}
