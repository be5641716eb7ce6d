/**
 * The role that makes the sealing keys of a server and keeps them. It is asked once by each isolate, and now and then
 * afterwards. What it stores is one row, written when a key is made: the first time it is asked, and once in each
 * rotation. It sets no alarm: nothing happens while nobody asks.
 *
 * @module
 */
import { type Rotation, rotate, type StoredKey } from "./rotation.ts";

/** The method the Worker calls. */
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
    if (keys !== stored) this.#kv.put(KEY, keys);
    return keys;
  }
}
