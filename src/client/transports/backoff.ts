/** The shortest and the longest pause before a reconnection, in milliseconds, unless the server asks for another pause. */
const SHORTEST_MS = 250;
const LONGEST_MS = 30_000;
/** The longest pause, in milliseconds, that a server may ask for. */
const ASKED_MAX_MS = 300_000;
/** How long a connection must last, in milliseconds, before the count of failed attempts is reset. */
export const LASTING_MS = 10_000;

/**
 * Returns the pause before a reconnection, in milliseconds. Each failure doubles it. The random part keeps the clients of
 * a restarted server from returning all at once.
 *
 * @param attempt The number of this attempt since something was received, starting at 1.
 * @param askedMs The pause that the server asked for. It is limited to 250 ms to 5 minutes. The returned pause is never shorter
 *   and, for the first attempt, at most a tenth longer.
 */
export function backoffMs(attempt: number, askedMs: number | undefined): number {
  const random = Math.random();
  const retryMs = askedMs === undefined ? undefined : Math.min(Math.max(askedMs, SHORTEST_MS), ASKED_MAX_MS);
  if (retryMs !== undefined && attempt === 1) return retryMs * (1 + random / 10);
  const doubled = Math.min(SHORTEST_MS * 2 ** attempt, LONGEST_MS);
  return Math.max(doubled * (0.5 + random / 2), retryMs ?? 0);
}
