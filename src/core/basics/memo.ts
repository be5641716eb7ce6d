/**
 * Caches the results of a function of strings that recur, such as headers.
 *
 * @module
 */

/** @limit internal */
const KEPT_MAX = 64;
/** Results for longer strings are not cached, to save memory. @limit internal */
const LENGTH_MAX = 256;

/**
 * Returns a function that caches at most 64 results. A result must depend on the argument alone. Callers share the
 * results and must not change them.
 */
export function memo<T extends object | string | boolean | null>(compute: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const value = compute(text);
    // A peer that sends a new string each time costs no more than without the cache.
    if (kept.size >= KEPT_MAX) kept.clear();
    if (text.length <= LENGTH_MAX) kept.set(text, value);
    return value;
  };
}
