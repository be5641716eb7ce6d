/** Computes statistics of numbers and of columns. */

export const OPERATIONS = ["count", "missing", "distinct", "sum", "mean", "median", "min", "max", "deviation"] as const;
export type Operation = (typeof OPERATIONS)[number];
export type Summary = Partial<Record<Operation, number>>;

/** Returns the statistics of at least one number. */
export function computeStats(numbers: readonly number[]) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const count = sorted.length;
  const sum = sorted.reduce((total, each) => total + each, 0);
  const mean = sum / count;
  const at = (place: number) => sorted[place] ?? Number.NaN;
  const median = (at(Math.ceil(count / 2) - 1) + at(Math.floor(count / 2))) / 2;
  const squares = sorted.reduce((total, each) => total + (each - mean) ** 2, 0);
  return { count, sum, mean, median, min: at(0), max: at(count - 1), deviation: Math.sqrt(squares / count) };
}

/** Returns the requested statistics of a column. Statistics that need numbers are omitted if the column contains text. */
export function summarize(values: readonly unknown[], operations: readonly Operation[]): Summary {
  const present = values.filter((value) => value !== null && value !== undefined);
  const numbers = present.filter((value) => typeof value === "number");
  const isNumeric = numbers.length > 0 && numbers.length === present.length;
  const all: Summary = {
    ...(isNumeric ? computeStats(numbers) : {}),
    count: present.length,
    missing: values.length - present.length,
    distinct: new Set(present).size,
  };
  return Object.fromEntries(operations.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])));
}
