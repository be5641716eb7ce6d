/**
 * Remembers the results of a function for texts that recur, such as headers.
 *
 * @module
 */

/** @limit internal */
const KEPT_MAX = 64;
/** Results for longer texts are not kept, to save memory. @limit internal */
const LENGTH_MAX = 256;

/**
 * Returns the function with a memory of at most 64 results. The function must depend on the text alone. Callers share
 * the results and must not change them.
 */
export function memo<T extends object | string | boolean | null>(compute: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const value = compute(text);
    // A peer that sends a new text each time costs no more than without the memory.
    if (kept.size >= KEPT_MAX) kept.clear();
    if (text.length <= LENGTH_MAX) kept.set(text, value);
    return value;
  };
}
