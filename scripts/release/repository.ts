/** The repository that is released: its git, its manifests, its changelog. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The part of a manifest that a release reads or writes. */
export interface Manifest {
  readonly name: string;
  version: string;
  readonly repository?: unknown;
  readonly files?: readonly string[];
  dependencies?: Record<string, string>;
}

/** The folder of the package that `npm create mcp-edge` runs. */
export const CREATE = "create-mcp-edge";
/** The folders of the packages that commands fetch in the version of mcp-edge: `mcp-edge migrate` and `mcp-edge add openapi`. */
export const FETCHED = { "mcp-edge-migrate": "packages/migrate", "mcp-edge-openapi": "packages/openapi" } as const;

/** The folders of the packages that a release publishes, by their names: first those that another package starts. */
export const PACKAGES: Readonly<Record<string, string>> = {
  ...FETCHED,
  "mcp-edge": ".",
  "create-mcp-edge": CREATE,
};

export class Repository {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  git(...args: readonly string[]): string {
    return execFileSync("git", args, { cwd: this.root, encoding: "utf8" }).trim();
  }

  has(file: string): boolean {
    return existsSync(join(this.root, file));
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), "utf8");
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.root, file), text);
  }

  readManifest(folder = "."): Manifest {
    return JSON.parse(this.read(join(folder, "package.json"))) as Manifest;
  }

  /** The files that are changed, added or deleted, as `git status` prints them, whatever the user's git is set to show. */
  changes(...paths: readonly string[]): string[] {
    const args = ["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=none", "--", ...paths];
    const output = execFileSync("git", args, { cwd: this.root, encoding: "utf8" });
    return output.split("\n").filter((line) => line !== "");
  }

  /** The files that git ignores, which `changes` does not list. */
  ignored(...paths: readonly string[]): string[] {
    const output = this.git("ls-files", "--others", "--ignored", "--exclude-standard", "--", ...paths);
    return output.split("\n").filter((line) => line !== "");
  }

  commit(): string {
    return this.git("rev-parse", "HEAD");
  }
}

/** The folder for the packed files, which git ignores. */
export const FOLDER = "release";

/** A version of a release, such as 1.0.0. Versions with a suffix are not released. */
export const VERSION: RegExp = /^\d+\.\d+\.\d+$/;

/** Whether a version is higher than another. */
export function isHigher(version: string, than: string): boolean {
  return version.localeCompare(than, "en", { numeric: true }) > 0;
}

/** A section of the changelog. */
export interface Section {
  /** What the heading has in parentheses: a date, or "unreleased". */
  readonly state: string;
  readonly text: string;
}

/** Returns the section of a version: its heading is `## 1.0.0 (unreleased)`, and after the release `## 1.0.0 (2026-12-01)`. */
export function findSection(changelog: string, version: string): Section | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  for (const section of sections) {
    const [, name, state] = /^(\S+) \(([^)]+)\)\n/.exec(section) ?? [];
    if (name === version && state !== undefined) return { state, text: section.slice(section.indexOf("\n")).trim() };
  }
  return undefined;
}
