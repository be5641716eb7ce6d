/**
 * What git says about a folder. The configuration of a repository can name programs, so those that these commands could run are turned
 * off.
 *
 * @module
 */
import { execFileSync } from "node:child_process";

/** The maximum output of git, in bytes. */
const OUTPUT_MAX = 20_000_000;
const SAFE = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false"];

function git(folder: string, args: readonly string[], safe: readonly string[] = SAFE): string | undefined {
  try {
    const env = { ...process.env, GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" };
    return execFileSync("git", ["-C", folder, ...safe, ...args], {
      encoding: "utf8",
      env,
      maxBuffer: OUTPUT_MAX,
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    // The folder is not in a repository, or git is not installed.
    return undefined;
  }
}

/** The files of a folder that git does not ignore; undefined outside of a repository. */
export function listFiles(folder: string): string[] | undefined {
  const listed = git(folder, ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
  return listed === undefined ? undefined : [...new Set(listed.split("\0"))].filter((path) => path !== "");
}

/** Whether the folder has changes that are not committed; undefined outside of a repository. */
export function hasChanges(folder: string): boolean | undefined {
  // Filters of the repository's own configuration are programs too.
  const filters = git(folder, ["config", "--local", "--name-only", "--get-regexp", "^filter\\."]) ?? "";
  const names = new Set([...filters.matchAll(/^filter\.(.+)\.[^.]+$/gm)].map(([, name]) => name));
  const off = [...names].flatMap((name) =>
    ["clean", "smudge", "process"].flatMap((kind) => ["-c", `filter.${name}.${kind}=`]),
  );
  const status = git(
    folder,
    ["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all", "--", "."],
    [...SAFE, ...off],
  );
  return status === undefined ? undefined : status.trim() !== "";
}
