/** Node of other major versions than the project's, to run a user's project on. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");
const CACHE = join(ROOT, "node_modules/.cache/mcp-edge");

/** The path of a Node. Uses an installed one, or installs one with npm and keeps it for later runs. */
export function nodeOf(major: number): string {
  const here = [NODE, process.execPath, "node"].find((path) => majorOf(path) === major);
  // Callers put its folder into PATH, so a name is not enough.
  if (here !== undefined) return execFileSync(here, ["-p", "process.execPath"], { encoding: "utf8" }).trim();
  const system = process.platform === "win32" ? "win" : process.platform;
  const [name, folder] = [`node-${system}-${process.arch}`, join(CACHE, `node-${major}`)];
  const path = join(folder, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node");
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    execFileSync("npm", ["install", "--no-save", "--no-package-lock", "--prefer-offline", `${name}@${major}`], {
      cwd: folder,
      stdio: "ignore",
    });
  }
  return path;
}

function majorOf(path: string): number {
  return Number.parseInt(execFileSync(path, ["--version"], { encoding: "utf8" }).slice(1), 10);
}
