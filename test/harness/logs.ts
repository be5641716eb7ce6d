/**
 * What the code under test writes. Nothing is printed: a line that a test file expects is asserted, and any other one fails the test in
 * which it was written.
 */
import { format } from "node:util";
import { afterAll, afterEach, beforeAll, type RunnerTestSuite } from "vitest";

interface Expected {
  readonly pattern: RegExp;
  count: number;
}

/** The patterns of the current file. */
let expected: Expected[] = [];
let unexpected: string[] = [];

/** Takes what was written, in one piece or in several lines. */
function take(text: string): void {
  const found = expected.filter(({ pattern }) => pattern.test(text));
  for (const each of found) each.count += 1;
  if (found.length === 0) unexpected.push(text);
}

/**
 * Expects lines in the log of the code under test. Call it at the top of a test file: each pattern must match at least one line of the
 * file, and a line that no pattern matches fails its test.
 */
export function expectLogs(...patterns: readonly RegExp[]): void {
  const own = patterns.map((pattern): Expected => ({ pattern, count: 0 }));
  beforeAll(() => void expected.push(...own));
  // biome-ignore lint/correctness/noEmptyPattern: the test runner reads the names of the first parameter.
  afterAll(({}, suite) => {
    expected = expected.filter((each) => !own.includes(each));
    const missing = own.filter(({ count }) => count === 0).map(({ pattern }) => pattern);
    if (missing.length > 0 && isWhole(suite))
      throw new Error(`The log has no line that matches ${missing.join(", ")}.`);
  });
}

/** Whether all tests of a file have run, rather than some that were chosen. */
function isWhole({ tasks }: RunnerTestSuite): boolean {
  return tasks.every((task) => (task.type === "suite" ? isWhole(task) : task.mode === "run"));
}

/** Lets lines pass that other people's code writes, and that no test is about. */
export function ignoreLogs(pattern: RegExp): void {
  expected.push({ pattern, count: 1 });
}

/** Replaces the console of this process. Called for each test file. */
export function policeLogs(): void {
  expected = [];
  unexpected = [];
  // workerd itself, when a test replaces an alarm that is about to run, or kills a process so that an alarm is late.
  ignoreLogs(/^NOSENTRY SQLite alarm (handler canceled|overdue)/);
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    console[method] = (...values: unknown[]) => take(format(...values));
  }
  const fail = () => {
    const texts = unexpected;
    unexpected = [];
    if (texts.length === 0) return;
    const shown = texts.slice(0, 5).map((text) => text.slice(0, 500));
    throw new Error(
      `The code under test wrote ${texts.length} unexpected lines. Expect them with expectLogs():\n${shown.join("\n")}`,
    );
  };
  afterEach(fail);
  afterAll(fail);
}
