/**
 * Remembering what a function made of a text, for texts that come again and again, such as headers.
 *
 * @module
 */

const KEPT_MAX = 64;
/** Longer texts are not worth their memory. */
const LENGTH_MAX = 256;

/** The same function, which must depend on nothing but the text. What it returns is shared, so nobody may change it. */
export function memo<T extends object | string | boolean | null>(compute: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const value = compute(text);
    // A peer that sends ever new texts costs as much as without.
    if (kept.size >= KEPT_MAX) kept.clear();
    if (text.length <= LENGTH_MAX) kept.set(text, value);
    return value;
  };
}
