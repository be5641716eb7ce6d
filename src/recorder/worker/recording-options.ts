/**
 * The options of `recorder()`.
 *
 * @module
 */
import { KitError } from "../../core/protocol/errors.ts";

/** The options of `recorder()`. */
export interface RecordingOptions {
  /**
   * How long a call is stored, in milliseconds: from 1 minute to 30 days. Expired calls are no longer shown, and are deleted
   * within another twenty-fourth of this time.
   *
   * @default 86_400_000 (one day)
   */
  readonly keepMs?: number | undefined;
  /** The maximum number of stored calls, from 1 to 10,000. The oldest are deleted first. @default 1_000 */
  readonly callsMax?: number | undefined;
  /**
   * The fraction of calls to record, above 0 and at most 1. Either all invocations of a call are recorded, or none. Each recorded
   * call costs a row, and its events are sent to one object, which serves about a thousand requests per second.
   *
   * @default 1
   */
  readonly share?: number | undefined;
  /**
   * Whether log lines, error messages, literals of statements and parts of paths are stored without redaction. Tokens, keys and
   * values that look like secrets are always replaced.
   *
   * @default false (only their shape is stored)
   */
  readonly contents?: boolean | undefined;
}

/** The options with their defaults. */
export type CheckedOptions = { readonly [Name in keyof RecordingOptions]-?: NonNullable<RecordingOptions[Name]> };

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** @throws {KitError} `options-invalid` if a value is out of range. */
export function checkRecordingOptions({ keepMs, callsMax, share, contents }: RecordingOptions): CheckedOptions {
  return {
    keepMs: within("keepMs", keepMs, DAY_MS, [MINUTE_MS, 30 * DAY_MS]),
    callsMax: within("callsMax", callsMax, 1_000, [1, 10_000]),
    share: within("share", share, 1, [Number.MIN_VALUE, 1]),
    contents: contents === true,
  };
}

function within(name: string, value: unknown, fallback: number, [min, max]: readonly [number, number]): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value >= min && value <= max) return value;
  const range = name === "share" ? "above 0, at most 1" : `from ${min} to ${max}`;
  throw new KitError("options-invalid", `recorder(): ${name} is ${String(value)}; use a number ${range}.`);
}

/** Returns whether to record a call. The decision depends only on the trace id, which all invocations of a call share. */
export function isInShare(traceId: string, share: number): boolean {
  return share >= 1 || Number.parseInt(traceId.slice(-8), 16) / 2 ** 32 < share;
}
