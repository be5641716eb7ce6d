/**
 * The interface of stores of tokens, registrations and open sign-ins, and two simple stores.
 *
 * @module
 */

import { Turns } from "../../core/basics/turns.ts";

/**
 * Stores secrets by key, for any number of clients and processes.
 *
 * All clients that share the stored values must also share the lock of `exclusive`, so that one of them refreshes for all.
 */
export interface OAuthStore {
  /**
   * Returns the value of a key, or undefined if there is none. Every process sees a value as soon as its `set` has resolved.
   */
  get(key: string): Promise<string | undefined>;
  /**
   * Replaces the value of a key, or removes it if the value is undefined. When the promise resolves, the value is durable: it survives
   * the end of the process.
   */
  set(key: string, value: string | undefined): Promise<void>;
  /**
   * Runs `work` under the lock of a key, so that no other client of this store runs work for the same key, and returns its result.
   *
   * The work can take minutes, because a user may sign in during it. If its process ends, the lock must become free. The work calls
   * `get` and `set`, even for the same key, but never `exclusive` for the same key.
   *
   * @param signal Aborts when the work is no longer needed. A store need not start the work then, or may ignore the signal.
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Creates a store in memory, which loses all values when the process ends. */
export function memoryStore(): OAuthStore {
  const values = new Map<string, string>();
  const turns = new Turns();
  return {
    get: async (key) => values.get(key),
    set: async (key, value) => {
      if (value === undefined) values.delete(key);
      else values.set(key, value);
    },
    exclusive: (key, work) => turns.run(key, work),
  };
}

/** The part of the storage of a Durable Object that {@link storageStore} uses. */
export interface KeyValueStorage {
  /** Returns the value of a key, or undefined if there is none. */
  get(key: string): Promise<unknown>;
  /** Replaces the value of a key. */
  put(key: string, value: string): Promise<void>;
  /** Removes a key. */
  delete(key: string): Promise<unknown>;
}

/**
 * Creates a store in the storage of a Durable Object, for clients that run in the same object. Create one store for each object,
 * because the lock is in memory. For clients in Workers, use `objectStore()`.
 *
 * @param storage The storage of the object: `ctx.storage`.
 * @param prefix The prefix of all keys. @default "oauth:"
 */
export function storageStore(storage: KeyValueStorage, prefix = "oauth:"): OAuthStore {
  const turns = new Turns();
  return {
    get: async (key) => (await storage.get(prefix + key)) as string | undefined,
    set: async (key, value) => {
      if (value === undefined) await storage.delete(prefix + key);
      else await storage.put(prefix + key, value);
    },
    exclusive: (key, work) => turns.run(key, work),
  };
}
