/** The shortest and the longest pause before a reconnection, in milliseconds, unless the server asks for another one. */
const SHORTEST_MS = 250;
const LONGEST_MS = 30_000;
/** The longest pause, in milliseconds, that a server may ask for. */
const ASKED_MAX_MS = 300_000;
/** The time, in milliseconds, after which a connection counts as one that lasted, so that attempts are counted anew. */
export const LASTING_MS = 10_000;

/**
 * Returns the pause before a reconnection, in milliseconds. Each failure doubles it. The random part keeps the clients of
 * a restarted server from returning all at once.
 *
 * @param attempt 1 for the first reconnection after something was received.
 * @param askedMs The pause that the server asked for, of which 250 ms to 5 minutes are kept. It is never shortened, and lengthened
 *   by at most a tenth.
 */
export function backoffMs(attempt: number, askedMs: number | undefined): number {
  const random = Math.random();
  const retryMs = askedMs === undefined ? undefined : Math.min(Math.max(askedMs, SHORTEST_MS), ASKED_MAX_MS);
  if (retryMs !== undefined && attempt === 1) return retryMs * (1 + random / 10);
  const doubled = Math.min(SHORTEST_MS * 2 ** attempt, LONGEST_MS);
  return Math.max(doubled * (0.5 + random / 2), retryMs ?? 0);
}
