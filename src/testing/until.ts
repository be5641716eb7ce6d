/** Timeout in milliseconds for conditions that should take only a few, so that a machine under load does not fail a test. */
export const WAIT_MS = 20_000;

/**
 * Waits until a condition holds, testing it every 10 ms. Use it for state that no event announces.
 *
 * @throws {Error} naming `what` when it does not hold within `timeoutMs`.
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs: number = WAIT_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Condition not met within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
