/**
 * Formats numbers for display.
 *
 * @module
 */

/** Returns a duration, such as `8 ms`, `1.2 s` or `3 min`. */
export function duration(ms: number): string {
  if (ms < 1) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

/** Returns a price, such as `$0.45`. */
export function dollars(amount: number): string {
  if (amount === 0) return "$0";
  return `$${amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
}

/** Returns a number with a noun in singular or plural. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Returns the time of day of an entry, with milliseconds. */
export function clock(atMs: number): string {
  const date = new Date(atMs);
  return `${date.toLocaleTimeString("en-GB")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** Returns a time relative to now, such as `8 s ago` or `in 3 min`. */
export function relative(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  return ms < 0 ? `${duration(-ms)} ago` : `in ${duration(ms)}`;
}
