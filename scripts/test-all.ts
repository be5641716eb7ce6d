/**
 * Runs all tests: the build, the checks, every test file, and then at the same time the official scenarios for clients and the templates.
 * Prints how long each step took, and exits with 1 after the first step that failed. Stores the commit if all have passed on it, which
 * a release requires.
 */
import { spawn } from "node:child_process";
import { findProgram } from "../src/node/program.ts";
import { beginTests, passTests } from "./release/passed.ts";
import { Repository } from "./release/repository.ts";
import { ROOT } from "./tools.ts";

const repository = new Repository(ROOT);
const times: string[] = [];

beginTests(repository);
const hasPassed =
  (await run("build")) &&
  (await run("check")) &&
  (await run("test:files")) &&
  (await Promise.all([run("templates"), run("conformance:client")])).every(Boolean);
console.log(times.join("\n"));
if (!hasPassed) process.exitCode = 1;
else if (!passTests(repository))
  console.log("The tree is not a commit, so it is not stored that all tests have passed.");

/** Runs a script of package.json. Returns whether it passed. */
async function run(script: string): Promise<boolean> {
  const { command, args, ...options } = findProgram("npm", ["run", script]);
  const startMs = performance.now();
  const child = spawn(command, args, { ...options, cwd: ROOT, stdio: "inherit" });
  const code = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  times.push(
    `npm run ${script}: ${code === 0 ? "passed" : "failed"} in ${Math.round((performance.now() - startMs) / 1000)} s`,
  );
  return code === 0;
}
