/** The first and the longest pause before a reconnection, in milliseconds. */
const FIRST_MS = 250;
const LONGEST_MS = 30_000;

/**
 * Returns the pause before a reconnection, in milliseconds. Each failure doubles it. The random part keeps the clients of
 * a restarted server from returning all at once.
 *
 * @param attempt 1 for the first reconnection after something was received.
 * @param retryMs The pause that the server asked for. It is never shortened, and lengthened by at most a tenth.
 */
export function backoffMs(attempt: number, retryMs: number | undefined): number {
  const random = Math.random();
  if (retryMs !== undefined && attempt === 1) return retryMs * (1 + random / 10);
  const doubled = Math.min(FIRST_MS * 2 ** (attempt - 1), LONGEST_MS);
  return Math.max(doubled * (0.5 + random / 2), retryMs ?? 0);
}
