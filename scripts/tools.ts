/** Shared by the scripts: the project's root folder, and a function that runs a tool. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findProgram } from "../src/node/program.ts";

export const ROOT: string = `${join(import.meta.dirname, "..")}/`;

/** Runs a tool of node_modules/.bin and passes its output through. Returns the exit code. */
export function runTool(name: string, args: readonly string[]): number {
  const { command, args: all, ...options } = findProgram(join(ROOT, "node_modules/.bin", name), args);
  const { status, error } = spawnSync(command, all, { ...options, cwd: ROOT, stdio: "inherit" });
  if (error) throw error;
  return status ?? 1;
}
