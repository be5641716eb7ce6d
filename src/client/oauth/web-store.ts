import type { OAuthStore } from "./store.ts";

/** The part of `localStorage` and `sessionStorage` that {@link webStore} uses. */
export interface WebStorage {
  /** Returns the value of a key, or null if there is none. */
  getItem(key: string): string | null;
  /** Replaces the value of a key. */
  setItem(key: string, value: string): void;
  /** Removes a key. */
  removeItem(key: string): void;
}

/** The part of `navigator.locks` that {@link webStore} uses. */
interface Locks {
  request<T>(name: string, options: { signal?: AbortSignal }, work: () => Promise<T>): Promise<T>;
}

/**
 * Creates a store for web pages. All tabs of an origin share its tokens and, through the Web Locks API, its lock, so that one tab
 * refreshes for all. Unlike the tokens in `memoryStore()`, its tokens survive the navigation to the authorization server.
 *
 * Every script of the origin can read the tokens.
 *
 * @param storage `localStorage`, or `sessionStorage` for tokens that are removed when the tab is closed.
 * @param prefix The prefix of all keys. @default "mcp-edge-oauth:"
 */
export function webStore(storage: WebStorage, prefix = "mcp-edge-oauth:"): OAuthStore {
  const { locks } = navigator as unknown as { readonly locks: Locks };
  return {
    get: async (key) => storage.getItem(prefix + key) ?? undefined,
    set: async (key, value) => {
      if (value === undefined) storage.removeItem(prefix + key);
      else storage.setItem(prefix + key, value);
    },
    exclusive: (key, work, signal) => locks.request(prefix + key, signal ? { signal } : {}, work),
  };
}
