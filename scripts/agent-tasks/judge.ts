/** Runs the hidden check of a task in the folder in which an agent has worked. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { type AgentTask, TASKS } from "./tasks.ts";

/** The result of a check. */
export interface Judgement {
  readonly isPassed: boolean;
  /** One line if the check passed, or else the first failure. */
  readonly text: string;
}

/** The folder of the check inside of the project, which is deleted afterwards. */
const PLACE = ".agent-check";
const LIMIT_MS = 600_000;
const FAILURE_CHARACTERS_MAX = 3_000;

const CONFIGURATION = `export default {
  test: {
    root: ${JSON.stringify("..")},
    include: ["${PLACE}/task/check.test.ts"],
    // A linked package is loaded as an installed one would be.
    server: { deps: { external: [/\\/dist\\//] } },
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
};
`;

interface Report {
  readonly numPassedTests: number;
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** Copies the check into the project, runs it with the project's vitest, and removes it. */
export function judge({ name, folder }: AgentTask, project: string): Judgement {
  const place = join(project, PLACE);
  const vitest = join(project, "node_modules/vitest/vitest.mjs");
  if (!existsSync(vitest)) return { isPassed: false, text: `${name}: failed. vitest is not installed in ${project}.` };
  try {
    mkdirSync(join(place, "task"), { recursive: true });
    copyFileSync(join(TASKS, "harness.ts"), join(place, "harness.ts"));
    copyFileSync(join(folder, "check.ts"), join(place, "task/check.test.ts"));
    writeFileSync(join(place, "vitest.config.mjs"), CONFIGURATION);
    const report = join(place, "report.json");
    const reporting = ["--reporter=json", `--outputFile=${report}`];
    const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter), NO_COLOR: "1" };
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [vitest, "run", "--root", project, "--config", join(place, "vitest.config.mjs"), ...reporting],
      { cwd: project, env, encoding: "utf8", timeout: LIMIT_MS },
    );
    if (!existsSync(report)) return { isPassed: false, text: `${name}: failed.\n${cut(stdout + stderr)}` };
    return judgementOf(name, JSON.parse(readFileSync(report, "utf8")) as Report);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function judgementOf(name: string, { numPassedTests, numTotalTests, testResults }: Report): Judgement {
  const counts = `${numPassedTests} of ${numTotalTests} tests`;
  if (numTotalTests > 0 && numPassedTests === numTotalTests)
    return { isPassed: true, text: `${name}: passed, ${counts}.` };
  const failed = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .find(({ status }) => status === "failed");
  const failure = failed
    ? `${failed.fullName}\n${failed.failureMessages?.join("\n") ?? ""}`
    : testResults.map(({ message }) => message).join("\n");
  return { isPassed: false, text: `${name}: failed, ${counts} passed. The first failure:\n${cut(failure)}` };
}

function cut(text: string): string {
  return text.slice(0, FAILURE_CHARACTERS_MAX);
}
