import { checkOptions, type OptionTable, SIZE } from "../../core/protocol/check-options.ts";

/**
 * Stores strings by key. Implement it with a database or a key-value service to share results between clients. Entries may disappear
 * at any time. If a method throws or rejects, the cache reports a warning, and the request is sent to the server.
 */
export interface CacheStore {
  /** Returns the string of a key, or undefined if there is none. */
  get(key: string): string | undefined | Promise<string | undefined>;
  /** Stores a string. It may be removed after `ttlMs` milliseconds. */
  set(key: string, text: string, ttlMs: number): void | Promise<void>;
  /** Removes the string of a key, if there is one. */
  delete(key: string): void | Promise<void>;
}

/** Options of {@link memoryCache}. */
export interface MemoryCacheOptions {
  /**
   * The maximum number of characters of all keys and values together. The least recently used entries are evicted first.
   *
   * @default 8,388,608
   */
  readonly charsMax?: number;
}

const OPTIONS: OptionTable<MemoryCacheOptions> = { charsMax: SIZE };

/**
 * Creates a store in memory.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function memoryCache(options: MemoryCacheOptions = {}): CacheStore {
  checkOptions("memoryCache(): ", options, OPTIONS);
  const { charsMax = 8 * 1024 * 1024 } = options;
  /** The entries, the least recently used first. */
  const texts = new Map<string, string>();
  let chars = 0;
  const remove = (key: string): void => {
    const text = texts.get(key);
    if (texts.delete(key) && text !== undefined) chars -= key.length + text.length;
  };
  return {
    get(key) {
      const text = texts.get(key);
      if (text === undefined) return undefined;
      texts.delete(key);
      texts.set(key, text);
      return text;
    },
    set(key, text) {
      remove(key);
      const added = key.length + text.length;
      if (added > charsMax) return;
      texts.set(key, text);
      chars += added;
      for (const oldest of texts.keys()) {
        if (chars <= charsMax) break;
        remove(oldest);
      }
    },
    delete: remove,
  };
}
