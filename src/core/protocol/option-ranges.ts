/**
 * The ranges of options that are numbers.
 *
 * @module
 */

/** The smallest and the largest whole number that an option accepts. */
export type Range = readonly [min: number, max: number];

/** The names of the options that are numbers. */
export type Numbers<O> = { [K in keyof O]-?: NonNullable<O[K]> extends number ? K : never }[keyof O];

/**
 * Lists every option of a function: a number with its range, any other option with null. The type requires every
 * option, so that no number stays unchecked.
 */
export type OptionTable<O> = { readonly [K in Numbers<O>]: Range } & {
  readonly [K in Exclude<keyof O, Numbers<O>>]-?: null;
};

/** The longest delay of a timer, in milliseconds. With a longer delay, it would fire at once. @limit internal */
const TIMER_MAX_MS = 2 ** 31 - 1;
export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;

/** A duration that a timer measures, up to 24.8 days. */
export const TIMER: Range = [1, TIMER_MAX_MS];
/** Like {@link TIMER}, with 0 for "at once" or "no limit". */
export const TIMER_OR_ZERO: Range = [0, TIMER_MAX_MS];
/** A duration that is compared with the clock, from 1 second to 1 year. Short durations are for tests. */
export const PERIOD: Range = [1_000, 365 * DAY_MS];
/** The options of a cache hint. */
export const CACHE = { ttlMs: [0, 10 * 365 * DAY_MS], cacheScope: null } as const;
/** A count, where 0 means none. */
export const COUNT: Range = [0, 2 ** 31 - 1];
/** A size in memory or storage, or a number of entries. */
export const SIZE: Range = [1, 2 ** 31 - 1];

/** Whether a value is a whole number within a range. */
export function isWithin(value: unknown, [min, max]: Range): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}
