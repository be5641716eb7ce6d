/**
 * What callers did before: when they were told to come back, and which sessions they opened.
 *
 * @module
 */
import { BoundedMap } from "../assemble/bounded-map.ts";
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { Thresholds } from "./thresholds.ts";

interface Told {
  readonly atMs: number;
  readonly waitMs: number;
}

interface OpenedSession {
  readonly session: string;
  readonly atMs: number;
  calls: number;
}

/** The maximum number of callers, and of sessions of a caller, that are kept. */
const [CALLERS_MAX, SESSIONS_MAX] = [1_000, 50];

/** A server may not ask for more, in milliseconds: an hour. */
const WAIT_MAX_MS = 60 * 60_000;

export class CallerHistory {
  readonly #thresholds: Thresholds;
  readonly #told: BoundedMap<Told> = new BoundedMap(CALLERS_MAX);
  readonly #sessions: BoundedMap<OpenedSession[]> = new BoundedMap(CALLERS_MAX);

  constructor(thresholds: Thresholds) {
    this.#thresholds = thresholds;
  }

  /** Looks at an exchange that has ended. Its findings need what is set here. */
  ended(entry: LiveEntry): void {
    if (entry.kind !== "request") return;
    this.#lookForHurry(entry);
    this.#lookForSessions(entry);
  }

  #lookForHurry(entry: LiveEntry): void {
    const { facts, startedAtMs, responseHeaders = [] } = entry;
    const caller = facts.principal ?? facts.session ?? (facts.client ? keyOf(facts) : undefined);
    if (caller === undefined) return;
    const told = this.#told.get(caller);
    if (told && startedAtMs > told.atMs && startedAtMs < told.atMs + told.waitMs) {
      entry.early = { toldMs: told.waitMs, waitedMs: startedAtMs - told.atMs };
    }
    const retryAfter = responseHeaders.find(([name]) => name.toLowerCase() === "retry-after")?.[1];
    if (facts.http?.status !== 429 || retryAfter === undefined || !/^\d{1,6}$/.test(retryAfter)) return;
    const waitMs = Math.min(Number(retryAfter) * 1_000, WAIT_MAX_MS);
    this.#told.set(caller, { atMs: startedAtMs + (entry.ms ?? 0), waitMs });
  }

  #lookForSessions(entry: LiveEntry): void {
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
