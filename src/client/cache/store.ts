import { checkOptions, type OptionTable, SIZE } from "../../core/protocol/check-options.ts";

/**
 * Keeps texts by key. Implement it over a database or a key-value service to share results between clients. Entries may
 * disappear at any time. If a method throws or rejects, the cache reports a warning and asks the server instead.
 */
export interface CacheStore {
  /** Returns the text of a key, or undefined. */
  get(key: string): string | undefined | Promise<string | undefined>;
  /** Keeps a text. It is of no use after `ttlMs` milliseconds. */
  set(key: string, text: string, ttlMs: number): void | Promise<void>;
  /** Removes the text of a key, if there is one. */
  delete(key: string): void | Promise<void>;
}

/** Options of {@link memoryCache}. */
export interface MemoryCacheOptions {
  /**
   * The maximum number of characters that all keys and texts have together. The entries that were used least recently
   * go first.
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
  /** In the order of their last use. */
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
