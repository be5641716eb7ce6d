/**
 * Suspends code for ever.
 *
 * @module
 */

/**
 * Returns a promise that never settles, for code that must not continue. Each call returns a new one, because a promise
 * keeps everything that awaits it alive: with a shared one, no suspended frame could ever be collected.
 */
export function suspend(): Promise<never> {
  return new Promise(() => undefined);
}
