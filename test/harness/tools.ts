/** Runs the project's tools from tests. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findProgram } from "../../src/node/program.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Runs a tool of node_modules/.bin to its end. `output` has both output streams. */
export function runToolQuietly(name: string, args: readonly string[], cwd = ROOT): { status: number; output: string } {
  const { command, args: all, ...options } = findProgram(join(ROOT, "node_modules/.bin", name), args);
  const { status, stdout, stderr, error } = spawnSync(command, all, {
    ...options,
    cwd,
    encoding: "utf8",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
  });
  if (error) throw error;
  return { status: status ?? 1, output: `${stdout}${stderr}` };
}
