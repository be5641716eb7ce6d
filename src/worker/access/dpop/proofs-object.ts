/**
 * The object that stores the used proofs of one key, so that each proof is accepted only once.
 *
 * | key | value | written | deleted |
 * | --- | --- | --- | --- |
 * | `proofs/<end>` | the ids of proofs that expire before this time, 22 characters each | once for each proof | after this time |
 *
 * A proof costs one row. Every ten seconds in which proofs arrive cost one more row, when their ids are deleted. When no
 * more proofs arrive, an alarm deletes the database, because every key of a client has its own.
 *
 * @module
 */
import type { RoleObject } from "../../object.ts";

/** The method that the Worker calls. */
export interface ProofsRpc {
  /**
   * Marks a proof as used. When this resolves with "new", the proof is stored.
   *
   * @param id 22 characters that identify the proof among all proofs of its key.
   * @param untilMs When the proof expires, in milliseconds since 1970.
   */
  use(id: string, untilMs: number): Promise<"new" | "used" | "too-many">;
}

const ID_LENGTH = 22;
/**
 * The period whose proofs share a row, in milliseconds. A longer period means fewer rows to delete, and more bytes in each
 * write.
 */
const ROW_MS = 10_000;
/**
 * The maximum number of proofs in a row: 500 per second. Keeps the value below 128 KiB, so that writes stay cheap.
 * @limit count Proofs of one key in 10 s. An additional proof gets 503.
 */
const ROW_MAX = 5_000;

const PREFIX = "proofs/";

export class ProofsObject implements RoleObject, ProofsRpc {
  readonly #storage: DurableObjectStorage;
  /** The ids of used proofs, by the time at which their row expires. */
  readonly #rows = new Map<number, Set<string>>();

  constructor({ storage }: DurableObjectState) {
    this.#storage = storage;
    for (const [key, ids] of storage.kv.list<string>({ prefix: PREFIX })) {
      this.#rows.set(Number(key.slice(PREFIX.length)), new Set(ids.match(new RegExp(`.{${ID_LENGTH}}`, "g"))));
    }
  }

  async use(id: string, untilMs: number): Promise<"new" | "used" | "too-many"> {
    this.#deleteExpired();
    for (const ids of this.#rows.values()) if (ids.has(id)) return "used";
    const endMs = Math.ceil((untilMs + 1) / ROW_MS) * ROW_MS;
    const ids = this.#rows.get(endMs) ?? new Set();
    if (ids.size >= ROW_MAX) return "too-many";
    const isFirst = this.#rows.size === 0;
    ids.add(id);
    this.#rows.set(endMs, ids);
    try {
      if (isFirst) await this.#storage.setAlarm(endMs);
      this.#storage.kv.put(toKey(endMs), [...ids].join(""));
    } catch (error) {
      // A proof that is not stored counts as unused, so that its request can be repeated.
      ids.delete(id);
      if (ids.size === 0) this.#rows.delete(endMs);
      throw error;
    }
    return "new";
  }

  async alarm(): Promise<void> {
    this.#deleteExpired();
    if (this.#rows.size === 0) return this.#storage.deleteAll();
    await this.#storage.setAlarm(Math.max(...this.#rows.keys()));
  }

  #deleteExpired(): void {
    const nowMs = Date.now();
    for (const endMs of this.#rows.keys()) {
      if (endMs > nowMs) continue;
      this.#rows.delete(endMs);
      this.#storage.kv.delete(toKey(endMs));
    }
  }
}

function toKey(endMs: number): string {
  return PREFIX + endMs;
}
