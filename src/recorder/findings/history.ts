/**
 * Tracks callers across exchanges: the last `Retry-After` that they received, and the sessions that they opened.
 *
 * @module
 */
import { BoundedMap } from "../assemble/bounded-map.ts";
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { Thresholds } from "./thresholds.ts";

/** A response with `Retry-After`. */
interface RetryAfter {
  readonly atMs: number;
  readonly waitMs: number;
}

interface OpenedSession {
  readonly session: string;
  readonly atMs: number;
  calls: number;
}

/** The maximum number of stored callers, and of stored sessions of a caller. */
const [CALLERS_MAX, SESSIONS_MAX] = [1_000, 50];

/** The maximum `Retry-After` that is taken into account, in milliseconds: one hour. */
const WAIT_MAX_MS = 60 * 60_000;

export class CallerHistory {
  readonly #thresholds: Thresholds;
  readonly #retryAfter: BoundedMap<RetryAfter> = new BoundedMap(CALLERS_MAX);
  readonly #sessions: BoundedMap<OpenedSession[]> = new BoundedMap(CALLERS_MAX);

  constructor(thresholds: Thresholds) {
    this.#thresholds = thresholds;
  }

  /** Tracks an exchange that has ended, and sets the members of its entry that findings use. */
  ended(entry: LiveEntry): void {
    if (entry.kind !== "request") return;
    this.#checkRetryAfter(entry);
    this.#checkSessions(entry);
  }

  #checkRetryAfter(entry: LiveEntry): void {
    const { facts, startedAtMs, responseHeaders = [] } = entry;
    const caller = facts.principal ?? facts.session ?? (facts.client ? keyOf(facts) : undefined);
    if (caller === undefined) return;
    const last = this.#retryAfter.get(caller);
    if (last && startedAtMs > last.atMs && startedAtMs < last.atMs + last.waitMs) {
      entry.early = { retryAfterMs: last.waitMs, waitedMs: startedAtMs - last.atMs };
    }
    const retryAfter = responseHeaders.find(([name]) => name.toLowerCase() === "retry-after")?.[1];
    if (facts.http?.status !== 429 || retryAfter === undefined || !/^\d{1,6}$/.test(retryAfter)) return;
    const waitMs = Math.min(Number(retryAfter) * 1_000, WAIT_MAX_MS);
    this.#retryAfter.set(caller, { atMs: startedAtMs + (entry.ms ?? 0), waitMs });
  }

  #checkSessions(entry: LiveEntry): void {
    const { facts, startedAtMs, outcome } = entry;
    const { session, method } = facts;
    if (session === undefined || !facts.client || outcome !== "ok") return;
    const key = keyOf(facts);
    const known = this.#sessions.get(key) ?? [];
    if (method !== "initialize") {
      const opened = known.find((each) => each.session === session);
      if (opened && method === "tools/call") opened.calls += 1;
      return;
    }
    const recent = known.filter(({ atMs }) => startedAtMs - atMs < this.#thresholds.sessionsMs);
    const single = recent.filter(({ calls }) => calls === 1);
    if (single.length + 1 >= this.#thresholds.sessions && single.length === recent.length) {
      entry.sessionsOpened = single.length + 1;
    }
    this.#sessions.set(key, [...recent.slice(1 - SESSIONS_MAX), { session, atMs: startedAtMs, calls: 0 }]);
  }
}

function keyOf({ client, principal = "" }: LiveEntry["facts"]): string {
  return `${client?.name} ${client?.version} ${principal}`;
}
