/**
 * Remembers the results of a function for texts that recur, such as headers.
 *
 * @module
 */

const KEPT_MAX = 64;
/** Longer texts are not worth their memory. */
const LENGTH_MAX = 256;

/**
 * Returns the function with a memory of at most 64 results. It must depend on the text alone; results are shared and
 * must not be changed.
 */
export function memo<T extends object | string | boolean | null>(compute: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const value = compute(text);
    // A peer that sends a new text each time gains nothing and costs no more than without a memory.
    if (kept.size >= KEPT_MAX) kept.clear();
    if (text.length <= LENGTH_MAX) kept.set(text, value);
    return value;
  };
}
