/**
 * Finds callers whose requests are refused or fail unusually often.
 *
 * @module
 */
import { checkOptions, type OptionTable, SIZE, TIMER } from "../../../core/protocol/check-options.ts";
import { describeType, KitError } from "../../../core/protocol/errors.ts";
import { toNetwork } from "../rates/network.ts";
import type { AuditRecord } from "./audit-record.ts";

/** A caller whose requests were refused, or ended with an error, unusually often. */
export interface UnusualUse {
  /** The record that reached the threshold. It identifies the caller, and contains the reason or the error code. */
  readonly record: AuditRecord;
  /** The number of requests of the caller that were refused or ended with an error. */
  readonly count: number;
  /** The period in which these requests were counted, in milliseconds. */
  readonly withinMs: number;
}

/** Options of `unusual` in `audit()`: the number of failures that is unusual, and the function that receives reports. */
export interface UnusualUseOptions<Env> {
  /**
   * Called when a caller reaches `max`, at most once per caller in `perMs`. If it returns a promise, it keeps running after
   * the response; an exception is logged.
   */
  readonly report: (use: UnusualUse, env: Env) => unknown;
  /** The number of refusals and errors of one caller that counts as unusual. @default 20 */
  readonly max?: number;
  /** The period in which refusals and errors are counted, in milliseconds. @default 60_000 (1 minute) */
  readonly perMs?: number;
}

const OPTIONS: OptionTable<UnusualUseOptions<never>> = { report: null, max: SIZE, perMs: TIMER };

/**
 * The maximum number of callers that are counted.
 * @limit count Callers that an isolate watches for unusual use. The caller whose count is the oldest is evicted.
 */
const CALLERS_MAX = 1_000;

interface Counter {
  readonly sinceMs: number;
  count: number;
}

/** Counts refusals and errors by caller, in this isolate. */
export class UnusualUseWatch<Env> {
  readonly #report: UnusualUseOptions<Env>["report"];
  readonly #max: number;
  readonly #perMs: number;
  readonly #counters = new Map<string, Counter>();

  /** @throws {KitError} `options-invalid` naming the option. */
  constructor(options: UnusualUseOptions<Env>) {
    checkOptions("audit(): unusual.", options, OPTIONS);
    const { report, max = 20, perMs = 60_000 } = options;
    if (typeof report !== "function") {
      throw new KitError(
        "options-invalid",
        `audit(): unusual.report is ${describeType(report)}; it must be a function.`,
      );
    }
    [this.#report, this.#max, this.#perMs] = [report, max, perMs];
  }

  /** Counts a record, and reports its caller if it reaches the threshold. Never throws. */
  async see(record: AuditRecord, env: Env): Promise<void> {
    const caller = findCaller(record);
    const isFailure = record.outcome === "refused" || record.outcome === "error";
    if (caller === undefined || !isFailure || this.#count(caller) !== this.#max) return;
    try {
      await this.#report({ record, count: this.#max, withinMs: this.#perMs }, env);
    } catch (error) {
      console.error("mcp-edge: unusual use could not be reported", error);
    }
  }

  #count(caller: string): number {
    const known = this.#counters.get(caller);
    if (known && Date.now() - known.sinceMs < this.#perMs) {
      known.count += 1;
      return known.count;
    }
    this.#counters.delete(caller);
    const [oldest] = this.#counters.keys();
    if (this.#counters.size >= CALLERS_MAX && oldest !== undefined) this.#counters.delete(oldest);
    this.#counters.set(caller, { sinceMs: Date.now(), count: 1 });
    return 1;
  }
}

/** Returns a name for the caller: its principal, or its network. Undefined if the record has neither. */
function findCaller({ issuer, subject, ip }: AuditRecord): string | undefined {
  if (subject !== undefined) return JSON.stringify([issuer, subject]);
  return ip && toNetwork(ip);
}
