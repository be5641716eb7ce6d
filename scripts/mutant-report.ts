/** What the report of a test run says about a mutant. */

/**
 * The outcome of a mutant. noticed: a test failed. survived: all its tests passed. invalid: the change could not be
 * applied, does not parse, or its tests fail without it, so that nothing can be concluded.
 */
export interface Verdict {
  readonly outcome: "noticed" | "survived" | "invalid";
  /** The test that failed, or the reason for the outcome. */
  readonly detail: string;
  readonly durationMs: number;
}

/** The part of vitest's JSON report that is used. */
export interface Report {
  readonly numFailedTests: number;
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly TestResult[];
  }[];
}

interface TestResult {
  readonly status: string;
  readonly fullName: string;
  readonly failureMessages: readonly string[];
}

/**
 * How a failure says that something did not happen in time. In the place of its message, vitest reports the text
 * STACK_TRACE_ERROR for a test that took too long, and the frame of `expect.poll` is in each of its failures.
 */
const TIMED_OUT = /STACK_TRACE_ERROR|__VITEST_POLL_CHAIN__|timed out|did not come true within/;

/** Returns the problem of tests that should pass, or undefined if they pass. */
export function problemOf(report: Report | undefined): string | undefined {
  if (!report) return "the tests wrote no report";
  const failed = firstFailure(report);
  if (failed) return `"${failed.fullName}" fails`;
  const broken = report.testResults.find(({ message }) => message !== "");
  if (broken) return broken.message.split("\n")[0];
  return report.numPassedTests === 0 ? "no test matches the title" : undefined;
}

/** Judges a mutant by the report of its tests. */
export function judgeReport(report: Report | undefined): [Verdict["outcome"], string] {
  if (!report) return ["noticed", "(the run did not end)"];
  const failed = firstFailure(report);
  if (failed) return ["noticed", failed.fullName];
  // A file that fails as a whole says nothing about a test: its set-up or its imports failed.
  const broken = report.testResults.find(({ message }) => message !== "");
  if (broken) return ["invalid", broken.message.split("\n")[0] ?? ""];
  return ["survived", "All tests passed."];
}

function firstFailure({ testResults }: Report): TestResult | undefined {
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  return results.find(({ status }) => status === "failed");
}

/** Whether tests failed because something did not happen in time, or wrote no report. */
export function hasTimedOut(report: Report | undefined): boolean {
  if (!report) return true;
  const texts = report.testResults.map(({ message }) => message);
  return [...texts, ...(firstFailure(report)?.failureMessages ?? [])].some((text) => TIMED_OUT.test(text));
}
