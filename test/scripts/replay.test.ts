// @module-tag long
/** The command for long runs: what it runs, and what it prints. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";

const SCRIPT = join(import.meta.dirname, "../../scripts/long.ts");
const run = (...args: string[]) => promisify(execFile)(NODE, [SCRIPT, "replay", ...args]);

test("npm run long -- replay runs handlers in each place and prints counts and seeds", {
  timeout: 300_000,
}, async () => {
  const places = "rounds,connection,asked,stdio,sessions,tasks,sessions-near,tasks-near";
  const { stdout } = await run("--place", places, "--runs", "8", "--seed", "7");
  for (const place of places.split(",")) {
    expect(stdout).toContain(`${place}: seeds 7 to 7: 8 passed, 0 failed`);
    expect(stdout).toMatch(new RegExp(`^${place}: 8 passed, 0 failed in \\d+ s`, "m"));
  }
  // Objects and the process are lost continuously here, so most cases are interrupted.
  for (const place of ["sessions", "tasks", "sessions-near", "tasks-near"]) {
    expect(stdout).toMatch(new RegExp(`^${place}: 8 passed.* [1-8] interrupted .* [1-9]\\d* times at [1-9]`, "m"));
  }
});
