/**
 * Code that is not to go on.
 *
 * @module
 */

/**
 * What code awaits that is not to go on: it never settles. Made anew each time, because a promise holds on to all that
 * wait for it. With one that is shared, no frame which ever waited could be collected; this one goes with its frame.
 */
export function suspend(): Promise<never> {
  return new Promise(() => undefined);
}
