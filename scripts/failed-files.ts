/** Which test files failed in a run of vitest, read from its JSON report. */
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

/** The members of vitest's JSON report that are used here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** A test file that failed, and the names of its failed tests. There are none if the file could not be loaded. */
export interface FailedFile {
  readonly path: string;
  readonly tests: readonly string[];
  /** Whether a property failed. Its inputs are random, so a second run may pass without them. */
  readonly hasCounterexample: boolean;
}

/** How the message of fast-check about a failed property begins. */
const COUNTEREXAMPLE = /Property failed (after|by)/;

/**
 * Returns the failed test files of a run.
 *
 * @param report path of the JSON report
 * @param root the folder to which the returned paths are relative
 * @returns undefined if there is no report, because the run ended before it could be written
 */
export function readFailedFiles(report: string, root: string): readonly FailedFile[] | undefined {
  if (!existsSync(report)) return undefined;
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  return testResults
    .filter(({ status }) => status === "failed")
    .map(({ name, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === "failed");
      return {
        path: relative(root, name),
        tests: failed.map(({ fullName }) => fullName),
        hasCounterexample: failed.some(({ failureMessages = [] }) => COUNTEREXAMPLE.test(failureMessages.join("\n"))),
      };
    });
}
