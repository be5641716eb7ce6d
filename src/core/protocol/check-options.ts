/**
 * Checks options when they are given, so that a mistake fails where it was made. Without the check, a duration that is
 * not a number would silently disable its limit, for example.
 *
 * @module
 */
import { KitError } from "./errors.ts";
import { DAY_MS, isWithin, MINUTE_MS, type Range } from "./option-ranges.ts";

export {
  CACHE,
  COUNT,
  type Numbers,
  type OptionTable,
  PERIOD,
  type Range,
  SIZE,
  TIMER,
  TIMER_OR_ZERO,
} from "./option-ranges.ts";

/**
 * Checks the numbers of an options object. Undefined options are not checked.
 *
 * @param where The prefix of the option's name in error messages, such as `durable(): `.
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
 * @throws {KitError} `options-invalid` if it is not a whole number within the range.
 */
export function checkNumber(what: string, value: unknown, range: Range): void {
  if (isWithin(value, range)) return;
  const [min, max] = range;
  const numbers = `${min.toLocaleString("en-US")} to ${max.toLocaleString("en-US")}`;
  const takes = what.endsWith("Ms") ? `${numbers} ms (${duration(min)} to ${duration(max)})` : numbers;
  throw new KitError("options-invalid", `${what} is ${shown(value)}; use ${takes}.`);
}

/**
 * Checks the path of a URL.
 *
 * @throws {KitError} `options-invalid` when it does not begin with a slash.
 */
export function checkPath(what: string, value: unknown): void {
  if (value === undefined || String(value).startsWith("/")) return;
  throw new KitError("options-invalid", `${what} is ${shown(value)}; begin it with "/".`);
}

/**
 * Checks an options object: its numbers, and that it has no unknown option.
 *
 * @throws {KitError} `options-invalid` naming the option, and a known option that resembles it.
 */
export function checkOptions(where: string, options: object, table: Readonly<Record<string, Range | null>>): void {
  if (typeof options !== "object" || options === null) {
    throw new KitError("options-invalid", `${where}the options are ${shown(options)}; write an object: { ... }.`);
  }
  const known = Object.keys(table);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const word = name.toLowerCase();
    const isSimilar = [
      (each: string) => isNear(word, each, 1),
      (each: string) => isNear(word, each, 2),
      (each: string) => each.includes(word) || word.includes(each),
    ].find((check) => word.length > 2 && known.some((each) => check(each.toLowerCase())));
    const similar = known.find((each) => isSimilar?.(each.toLowerCase()));
    const hint = similar ? `Did you mean "${similar}"?` : `Use ${known.join(", ") || "none"}.`;
    throw new KitError("options-invalid", `${where.replace(/[.:] ?$/, "")} has no option "${name}". ${hint}`);
  }
  for (const [name, range] of Object.entries(table)) {
    if (range) checkNumbers(where, options, { [name]: range });
  }
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** Formats a duration in the largest unit that it contains at least once. */
function duration(ms: number): string {
  const units = { year: 365 * DAY_MS, day: DAY_MS, hour: 60 * MINUTE_MS, minute: MINUTE_MS, second: 1_000 };
  const [unit, size] = Object.entries(units).find(([, size]) => ms >= size) ?? [];
  if (!unit || !size) return `${ms} ms`;
  const number = Math.floor((ms / size) * 10) / 10;
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}

/** Whether at most this number of insertions, deletions and substitutions turns one word into the other. */
function isNear(a: string, b: string, edits: number): boolean {
  if (a === b) return true;
  if (edits === 0) return false;
  const isSame = a[0] === b[0];
  const rest = (x: number, y: number) => isNear(a.slice(x), b.slice(y), isSame ? edits : edits - 1);
  return rest(1, 1) || (!isSame && (rest(1, 0) || rest(0, 1)));
}
