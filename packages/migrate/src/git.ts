/**
 * Asks git about a folder. The configuration of a repository can name programs, so every setting through which these commands could run
 * one is turned off.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { dirname } from "node:path";

/** The maximum output of git, in bytes. */
const OUTPUT_MAX = 20_000_000;
const SAFE = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false"];

/** Git never asks, and never fetches an object that a partial clone lacks: the URL of a remote can name a program. */
const ENVIRONMENT = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
} as const;

function git(folder: string, args: readonly string[], settings: readonly string[] = []): string | undefined {
  // Names of settings can contain `=`, which the option -c cannot express.
  const given = settings.map((name, at) => ({ [`GIT_CONFIG_KEY_${at}`]: name, [`GIT_CONFIG_VALUE_${at}`]: "" }));
  const env = Object.assign({ ...process.env, ...ENVIRONMENT, GIT_CONFIG_COUNT: String(settings.length) }, ...given);
  try {
    return execFileSync("git", ["-C", folder, ...SAFE, ...args], {
      // Windows looks for programs in the current folder first.
      cwd: dirname(process.execPath),
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
  const status = git(
    folder,
    ["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all", "--", "."],
    filterSettings(folder),
  );
  return status === undefined ? undefined : status.trim() !== "";
}

/**
 * The settings that turn off the filters of the repository's own configuration, which are programs. The configuration can be in several
 * files: for the work tree, and in files that these include.
 */
function filterSettings(folder: string): string[] {
  const listed = ["--local", "--worktree"].map((scope) =>
    git(folder, ["config", scope, "--includes", "--null", "--name-only", "--get-regexp", "^filter\\."]),
  );
  const names = new Set(
    listed.flatMap((each) =>
      [...(each ?? "").matchAll(/(?<=^|\0)filter\.([^\0]+)\.[^.\0]+(?=\0)/g)].map(([, name]) => name),
    ),
  );
  return [...names].flatMap((name) =>
    ["clean", "smudge", "process", "required"].map((kind) => `filter.${name}.${kind}`),
  );
}
