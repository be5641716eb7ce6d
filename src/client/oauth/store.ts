/**
 * The interface of stores, which keep tokens, registrations and open sign-ins, and two simple stores.
 *
 * @module
 */

import { Turns } from "../../core/basics/turns.ts";

/**
 * Keeps secrets under keys, for any number of clients and processes.
 *
 * All clients that share the stored values must also share the lock of `exclusive`: it makes one of them refresh for all.
 */
export interface OAuthStore {
  /**
   * Returns the value of a key, or undefined if there is none. A `set` that has resolved is visible to every process.
   */
  get(key: string): Promise<string | undefined>;
  /**
   * Replaces the value of a key, or removes it if the value is undefined. When the promise resolves, the value survives the
   * end of the process.
   */
  set(key: string, value: string | undefined): Promise<void>;
  /**
   * Runs `work` while no other client that shares this store runs work for the same key, and returns its result.
   *
   * The work can take minutes, because a user may sign in during it. If the process of the work ends, the lock must become
   * free by itself. The work calls `get` and `set`, also for the same key, but never `exclusive` for the same key.
   *
   * @param signal Aborts when the work is no longer needed. The store then need not start it. A store may ignore the signal.
   */
  exclusive<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Returns a store that forgets everything when the process ends. */
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

/** The part of a Durable Object's storage that {@link storageStore} uses. */
export interface KeyValueStorage {
  /** Returns the value of a key, or undefined if there is none. */
  get(key: string): Promise<unknown>;
  /** Replaces the value of a key. */
  put(key: string, value: string): Promise<void>;
  /** Removes a key. */
  delete(key: string): Promise<unknown>;
}

/**
 * Returns a store in the storage of a Durable Object, for clients that run in that object. Create one store for each object,
 * because the lock is in memory. For clients in Workers, use `objectStore()`.
 *
 * @param storage The storage of the object: `ctx.storage`.
 * @param prefix The text with which the keys begin. @default "oauth:"
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
