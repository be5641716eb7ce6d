/**
 * Numbers of bytes for people.
 *
 * @module
 */

/**
 * Returns a number of bytes in decimal units (KB and MB), rounded.
 *
 * @param round How a limit is rounded, or for a size that exceeds it `Math.ceil`.
 */
export function formatBytes(bytes: number, round: (value: number) => number = Math.floor): string {
  if (bytes >= 1_000_000) return `${round(bytes / 100_000) / 10} MB`;
  return bytes >= 1_000 ? `${round(bytes / 1_000)} KB` : `${bytes} bytes`;
}
