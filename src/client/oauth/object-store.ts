import type { OAuthStore } from "./store.ts";

/** The methods of a stub of `OAuthStoreObject` of `mcp-edge/worker/token-store`. */
export interface OAuthStoreStub {
  /** Returns the value of a key, or undefined if there is none. */
  get(key: string): Promise<string | undefined>;
  /** Replaces the value of a key, or removes it if the value is undefined. */
  set(key: string, value: string | undefined): Promise<void>;
  /** Calls `work` while no other work for the same key runs. */
  exclusive(key: string, work: () => Promise<void>): Promise<void>;
}

/**
 * Creates a store in a Durable Object, for clients in Workers. All clients that use the same object share its tokens, across isolates.
 * If the Worker that holds the lock ends, the lock becomes free.
 *
 * @param stub The stub of an `OAuthStoreObject`, such as `env.TOKENS.getByName("all")`. Use one object for each user, or one
 *   object for all users with the option `account`.
 */
export function objectStore(stub: OAuthStoreStub): OAuthStore {
  return {
    get: (key) => tryTwice(() => stub.get(key)),
    set: (key, value) => tryTwice(() => stub.set(key, value)),
    async exclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
      let outcome: Promise<T> | undefined;
      try {
        await stub.exclusive(key, async () => {
          outcome ??= work();
          // The caller receives the error through `outcome`.
          await outcome.catch(() => undefined);
        });
      } catch (error) {
        // The object was restarted. Work that has started continues without the lock.
        if (!outcome) throw error;
      }
      return outcome as Promise<T>;
    },
  };
}

/** Repeats a call that fails once, as when a deploy resets the object. Tokens that are not stored would be lost. */
async function tryTwice<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch {
    return ask();
  }
}
