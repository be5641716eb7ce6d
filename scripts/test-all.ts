/**
 * Runs all tests: the build, the checks, the templates, and every test file. Prints how long each step took, and
 * exits with 1 after the first step that failed. Stores the commit if all have passed on it, which a release requires. Up to
 * three test files that failed are run once more, alone: docs/decisions/027-unsteady-tests.md.
 */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../src/node/program.ts";
import { readFailedFiles } from "./failed-files.ts";
import { beginTests, passTests } from "./release/passed.ts";
import { Repository } from "./release/repository.ts";
import { ROOT } from "./tools.ts";

/** The maximum number of failed files that are repeated. If more have failed, the cause is not a test that fails only sometimes. */
const MOST_REPEATED = 3;
const REPORT = join(ROOT, "node_modules/.cache/mcp-edge/test-report.json");

const repository = new Repository(ROOT);
const times: string[] = [];
const unsteady: string[] = [];

beginTests(repository);
const hasPassed =
  (await run("build")) &&
  (await run("check")) &&
  // Not beside the test files: both use every core, and each would wait for the other.
  (await run("templates", ["--built"])) &&
  (await runTestFiles());
console.log(times.join("\n"));
if (!hasPassed) process.exitCode = 1;
else if (unsteady.length > 0)
  console.log(
    `These tests failed and passed when they were repeated. A release needs a run in which they pass at once:\n${unsteady.join("\n")}`,
  );
else if (!passTests(repository))
  console.log("The tree is not a commit, so it is not stored that all tests have passed.");

/** Runs every test file, and those that failed once more, one after another. */
async function runTestFiles(): Promise<boolean> {
  rmSync(REPORT, { force: true });
  if (await run("test:files", ["--reporter=default", "--reporter=json", `--outputFile.json=${REPORT}`])) return true;
  const failed = readFailedFiles(REPORT, ROOT) ?? [];
  // Without failed files, the run itself has failed, for instance by an error outside of any test.
  if (failed.length === 0 || failed.length > MOST_REPEATED) return false;
  if (failed.some(({ hasCounterexample }) => hasCounterexample)) return false;
  unsteady.push(
    ...failed.flatMap(({ path, tests }) =>
      (tests.length > 0 ? tests : ["the file"]).map((test) => `  ${path}: ${test}`),
    ),
  );
  return run("test:files", ["--maxWorkers=1", ...failed.map(({ path }) => path)]);
}

/** Runs a script of package.json with arguments. Returns whether it passed. */
async function run(script: string, more: readonly string[] = []): Promise<boolean> {
  const { command, args, ...options } = findProgram("npm", ["run", script, "--", ...more]);
  const startMs = performance.now();
  const child = spawn(command, args, { ...options, cwd: ROOT, stdio: "inherit" });
  const code = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  times.push(
    `npm run ${script}: ${code === 0 ? "passed" : "failed"} in ${Math.round((performance.now() - startMs) / 1000)} s`,
  );
  return code === 0;
}
