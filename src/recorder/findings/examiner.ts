/**
 * Schedules the examination of entries: shortly after a part of them has ended, and periodically while a part is pending.
 *
 * @module
 */
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { Redactor } from "../redact/redactor.ts";
import { findAll } from "./findings.ts";
import { CallerHistory } from "./history.ts";
import { THRESHOLDS, type Thresholds } from "./thresholds.ts";

export interface ExaminerOptions {
  readonly redactor: Redactor;
  readonly thresholds?: Partial<Thresholds> | undefined;
  readonly find: (id: string) => LiveEntry | undefined;
  /** Called when the findings of an entry have changed. */
  readonly changed: (entry: LiveEntry) => void;
}

/** The delay before an entry is examined, in milliseconds, so that events that arrive together are examined together. */
const SOON_MS = 50;

/** The interval at which pending entries are examined, in milliseconds. */
const AGAIN_MS = 1_000;

/** The maximum number of pending entries. */
const PENDING_MAX = 500;

export class Examiner {
  readonly #options: ExaminerOptions;
  readonly #thresholds: Thresholds;
  readonly #history: CallerHistory;
  readonly #soon = new Set<LiveEntry>();
  readonly #pending = new Set<LiveEntry>();
  #timer: unknown;

  constructor(options: ExaminerOptions) {
    this.#options = options;
    this.#thresholds = { ...THRESHOLDS, ...options.thresholds };
    this.#history = new CallerHistory(this.#thresholds);
  }

  /** Adds the entry of an exchange that has begun. */
  begun(entry: LiveEntry): void {
    if (this.#pending.size < PENDING_MAX) this.#pending.add(entry);
    this.#schedule();
  }

  /** Examines an entry soon, because its exchange has ended. */
  ended(entry: LiveEntry): void {
    this.#history.ended(entry);
    this.changed(entry);
  }

  /** Examines an entry soon, because a part of it has ended. */
  changed(entry: LiveEntry): void {
    this.#soon.add(entry);
    this.#schedule();
  }

  /** Examines all changed and all pending entries. */
  examine(nowMs: number): void {
    const entries = new Set([...this.#soon, ...this.#pending]);
    this.#soon.clear();
    for (const entry of entries) {
      this.#examineOne(entry, nowMs);
      const isPending =
        entry.outcome === "running" || entry.invocations.some(({ endedAtMs }) => endedAtMs === undefined);
      if (!isPending || nowMs - entry.startedAtMs > GIVEN_UP_MS) this.#pending.delete(entry);
    }
  }

  #examineOne(entry: LiveEntry, nowMs: number): void {
    const { redactor, find, changed } = this.#options;
    const { method, target } = entry.facts;
    const tool = method === "tools/call" && target !== undefined ? redactor.catalog.tool(target) : undefined;
    const thresholds = this.#thresholds;
    const found = findAll({ entry, nowMs, thresholds, tool, contents: redactor.contents, find });
    const known = entry.findings;
    const isSame =
      found.length === known.length &&
      found.every(({ what, where }, at) => known[at]?.what === what && known[at]?.where === where);
    if (isSame) return;
    entry.findings = found;
    if (found.length > 0) entry.marks.add("suspicious");
    else entry.marks.delete("suspicious");
    changed(entry);
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    const timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.examine(Date.now());
        if (this.#soon.size + this.#pending.size > 0) this.#schedule();
      },
      this.#soon.size > 0 ? SOON_MS : AGAIN_MS,
    ) as unknown;
    this.#timer = timer;
    // In Node.js, the timer would keep the process alive.
    if (typeof timer === "object" && timer !== null && "unref" in timer) (timer as { unref(): void }).unref();
  }
}

/** How long a pending entry is examined at most, in milliseconds. */
const GIVEN_UP_MS = 15 * 60_000;
