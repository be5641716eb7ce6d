/** Counters, and every violation with the information to reproduce it. */
const COUNTED = [
  "seeds",
  "shared",
  "readers",
  "kills",
  "evictions",
  "aborts",
  "deploys",
  "cuts",
  "calls",
  "events",
  "results",
  "interrupted",
  "cancelled",
  "ended",
  "unknown",
  "notices",
  "pruned",
  "expired",
  "released",
  "refreshes",
  "repeats",
  "answers",
  "errors",
  "timeouts",
  "lost",
  "signed-out",
  "duplicated",
  "hanging",
  "broken",
] as const;

export type Counted = (typeof COUNTED)[number];

/** The kinds of violations. */
export type Violation = "lost" | "signed-out" | "duplicated" | "hanging" | "broken";

export interface Violated {
  readonly violation: Violation;
  readonly what: string;
}

export class Tally {
  readonly #counts = new Map<Counted, number>();
  readonly violations: Violated[] = [];

  count(what: Counted, by = 1): void {
    this.#counts.set(what, this.of(what) + by);
  }

  of(what: Counted): number {
    return this.#counts.get(what) ?? 0;
  }

  violate(violation: Violation, what: string, by = 1): void {
    this.count(violation, by);
    this.violations.push({ violation, what });
  }

  add(other: Tally): void {
    for (const [what, by] of other.#counts) this.count(what, by);
    this.violations.push(...other.violations);
  }

  table(): string {
    return COUNTED.map((what) => `${what.padEnd(12)}${String(this.of(what)).padStart(9)}`).join("\n");
  }
}
