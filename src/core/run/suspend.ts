/**
 * Suspends code forever.
 *
 * @module
 */

/**
 * Returns a promise that never settles, for code that must not continue. Each call returns a new promise, because a
 * promise keeps all code that awaits it in memory: with a shared promise, suspended code could never be
 * garbage-collected.
 */
export function suspend(): Promise<never> {
  return new Promise(() => undefined);
}
