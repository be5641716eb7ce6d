/**
 * Checks the options an author wrote. A wrong one is refused where it is written, with what to write instead: a duration
 * that is not a number, for example, would switch off what it bounds without a word.
 *
 * @module
 */
import { KitError } from "./errors.ts";

/** The smallest and the largest whole number that an option takes. */
export type Range = readonly [min: number, max: number];

/** Names of options that are numbers, among others. */
export type Numbers<O> = { [K in keyof O]-?: NonNullable<O[K]> extends number ? K : never }[keyof O];

/**
 * Every option of a function: its range where it is a number, null where it is anything else. The compiler asks for every
 * one, so that no number is left unchecked.
 */
export type OptionTable<O> = { readonly [K in Numbers<O>]: Range } & {
  readonly [K in Exclude<keyof O, Numbers<O>>]-?: null;
};

/** Milliseconds a timer can run: with one more it would fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A duration that a timer measures, up to 24.8 days. */
export const TIMER: Range = [1, TIMER_MAX_MS];
/** The same, where 0 means "at once" or "no bound". */
export const TIMER_OR_ZERO: Range = [0, TIMER_MAX_MS];
/** A duration that is compared with the clock. The shorter ones serve tests. */
export const PERIOD: Range = [1_000, 365 * DAY_MS];
/** The options of a hint on caching. */
export const CACHE = { ttlMs: [0, 10 * 365 * DAY_MS], cacheScope: null } as const;
/** How many of something; 0 means none. */
export const COUNT: Range = [0, 2 ** 31 - 1];
/** A size in memory or storage, or a number of entries. */
export const SIZE: Range = [1, 2 ** 31 - 1];

/**
 * Checks the numbers of an options object. What is undefined is left to its default.
 *
 * @param where What stands before the name of an option in a message, such as `durable(): `.
 * @throws {KitError} `options-invalid` naming the option, its value and its range.
 */
export function checkNumbers(where: string, options: object, ranges: Readonly<Record<string, Range>>): void {
  for (const [name, range] of Object.entries(ranges)) {
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined) checkNumber(where + name, value, range);
  }
}

/**
 * Checks one number.
 *
 * @throws {KitError} `options-invalid` when it is no whole number of the range.
 */
export function checkNumber(what: string, value: unknown, [min, max]: Range): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return;
  const range = `${min.toLocaleString("en-US")} to ${max.toLocaleString("en-US")}`;
  const takes = what.endsWith("Ms") ? `${range} ms (${duration(min)} to ${duration(max)})` : range;
  throw new KitError("options-invalid", `${what} is ${shown(value)}; use ${takes}.`);
}

/**
 * Checks an options object: its numbers, and that it has no option of another name.
 *
 * @throws {KitError} `options-invalid` naming the option, and the one it resembles.
 */
export function checkOptions(where: string, options: object, table: Readonly<Record<string, Range | null>>): void {
  if (typeof options !== "object" || options === null) {
    throw new KitError("options-invalid", `${where}the options are ${shown(options)}; write an object: { ... }.`);
  }
  const known = Object.keys(table);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const far = (each: string) => distance(name.toLowerCase(), each.toLowerCase());
    const [similar] = known.filter((each) => isSimilar(name, each)).sort((a, b) => far(a) - far(b));
    const hint = similar ? `Did you mean "${similar}"?` : `Use ${known.join(", ") || "none"}.`;
    throw new KitError("options-invalid", `${where}there is no option "${name}". ${hint}`);
  }
  for (const [name, range] of Object.entries(table)) {
    if (range) checkNumbers(where, options, { [name]: range });
  }
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** Milliseconds in the largest unit there is one of. */
function duration(ms: number): string {
  const units = { year: 365 * DAY_MS, day: DAY_MS, hour: 60 * MINUTE_MS, minute: MINUTE_MS, second: 1_000 };
  const [unit, size] = Object.entries(units).find(([, size]) => ms >= size) ?? [];
  if (!unit || !size) return `${ms} ms`;
  const number = Math.floor((ms / size) * 10) / 10;
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}

/** Whether one contains the other, or at most two letters were added, left out or changed; case does not count. */
function isSimilar(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a.length > 2 && (a.includes(b) || b.includes(a) || distance(a, b) <= 2);
}

/** Returns the edit distance of two words: the insertions, deletions and substitutions that turn one into the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
