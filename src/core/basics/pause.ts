/**
 * A delay that a signal can end.
 *
 * @module
 */

/** Timers with a longer delay fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after this many milliseconds, 24.8 days at most, or at once when `signal` aborts; it never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, Math.min(ms, LONGEST_MS));
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done);
  });
}
