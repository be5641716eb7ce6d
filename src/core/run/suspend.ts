/**
 * Suspends code forever.
 *
 * @module
 */

/**
 * Returns a promise that never settles, for code that must not continue. Each call returns a new one, because a promise
 * keeps everything that awaits it in memory: with a shared promise, no suspended code could ever be collected.
 */
export function suspend(): Promise<never> {
  return new Promise(() => undefined);
}
