/** The default timeout of a condition, in milliseconds. It is generous, so that tests do not fail on a machine under load. */
export const WAIT_MS = 20_000;

/**
 * Waits until a condition is true, checking it every 10 ms. Use it for state that has no event to wait for.
 *
 * @throws {Error} naming `what`, if the condition is not true within `timeoutMs`.
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
