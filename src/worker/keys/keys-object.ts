/**
 * The object that creates and stores the sealing keys of a server. Each isolate requests them once and then refreshes them
 * regularly. It stores one row, which is written when a key is created: at the first request and once per rotation. It does
 * not set an alarm, because keys are rotated only on request.
 *
 * @module
 */
import { type Rotation, rotate, type StoredKey } from "./rotation.ts";

/** The method that the Worker calls. */
export interface KeysRpc {
  keys(rotation: Rotation): Promise<readonly StoredKey[]>;
}

const KEY = "keys";

export class KeysObject implements KeysRpc {
  readonly #kv: SyncKvStorage;

  constructor({ storage }: DurableObjectState) {
    this.#kv = storage.kv;
  }

  async keys(rotation: Rotation): Promise<readonly StoredKey[]> {
    const stored = this.#kv.get<readonly StoredKey[]>(KEY) ?? [];
    const keys = rotate(stored, rotation, Date.now());
    try {
      if (keys !== stored) this.#kv.put(KEY, keys);
      return keys;
    } catch (error) {
      // The stored keys are still valid. Keys that are not stored must not seal.
      if (!stored[0]) throw error;
      return stored;
    }
  }
}
