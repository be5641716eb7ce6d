/**
 * The version of Node with which a new project will be used.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";

const BIN = join("node_modules", ".bin");

/**
 * Returns the major version of the user's own Node. `npx` and npm scripts put the programs of the current project first in PATH, and
 * a Node among them will not be available to the new project.
 */
export function userNodeMajor(): number {
  const { PATH = "" } = process.env;
  const folders = PATH.split(delimiter).filter((folder) => !folder.endsWith(BIN));
  const env = { ...process.env, PATH: folders.join(delimiter) };
  const { stdout } = spawnSync("node", ["--version"], { env, encoding: "utf8" });
  const version = /^v(\d+)\./.exec(stdout ?? "")?.[1] ?? process.versions.node;
  return Number.parseInt(version, 10);
}
