/**
 * The object that remembers the proofs of one key, so that each is accepted once.
 *
 * | key | value | written | deleted |
 * | --- | --- | --- | --- |
 * | `proofs/<end>` | the ids of proofs that expire before this time, 22 characters each | once for each proof | after
 * the time |
 *
 * A proof costs one row, and every ten seconds with proofs one more row when their ids are deleted. When no more proofs
 * come, an alarm deletes the database: every key of a client has one.
 *
 * @module
 */
import type { RoleObject } from "../../object.ts";

/** The method that the Worker calls. */
export interface ProofsRpc {
  /**
   * Remembers a proof. When this resolves with "new", the proof is stored.
   *
   * @param id 22 characters that identify the proof among those of its key.
   * @param untilMs When the proof expires, in milliseconds since 1970.
   */
  use(id: string, untilMs: number): Promise<"new" | "used" | "too-many">;
}

const ID_LENGTH = 22;
/** Milliseconds whose proofs share a row. A longer time means fewer rows to delete, and more bytes in each write. */
const ROW_MS = 10_000;
/**
 * The maximum number of proofs in a row: 500 a second. Keeps the value below 128 KiB, so that each write stays cheap.
 * @limit count Proofs of one key in 10 s. A further one gets 503.
 */
const ROW_MAX = 5_000;

const PREFIX = "proofs/";

export class ProofsObject implements RoleObject, ProofsRpc {
  readonly #storage: DurableObjectStorage;
  /** The ids by the time at which their row expires. */
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
    this.#storage.kv.put(toKey(endMs), [...ids].join(""));
    if (isFirst) await this.#storage.setAlarm(endMs);
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
