/** The second step of a release: packs both packages, describes them, and publishes exactly these files. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../../src/node/program.ts";
import { findProblemsAfter } from "./checks.ts";
import { CREATE, findSection, type Repository } from "./repository.ts";
import { billOf } from "./sbom.ts";

/** The folder for the packed files, which git ignores. */
const FOLDER = "release";

/** How to publish. */
export interface PublishOptions {
  /** Whether npm only shows what it would publish. */
  readonly isDryRun: boolean;
  /** Whether npm signs the provenance, which requires a workflow of GitHub. */
  readonly isSigned: boolean;
}

/** Publishes the version that has been prepared. Returns what prevents it; then nothing is published. */
export function publish(repository: Repository, { isDryRun, isSigned }: PublishOptions): string[] {
  const problems = findProblemsAfter(repository, isSigned);
  if (problems.length > 0) return problems;
  const { version } = repository.readManifest();
  const files = packBoth(repository, join(repository.root, FOLDER));
  writeFileSync(
    join(repository.root, FOLDER, "notes.md"),
    findSection(repository.read("CHANGELOG.md"), version)?.text ?? "",
  );
  for (const [name, file] of Object.entries(files)) {
    if (!isDryRun && isPublished(repository, `${name}@${version}`)) continue;
    const options = [...(isDryRun ? ["--dry-run"] : []), ...(isSigned ? ["--provenance"] : [])];
    run(repository, ["publish", file, "--access", "public", ...options]);
  }
  return [];
}

/** Packs both packages into a folder, with a bill of materials for each. Returns the files by the names of the packages. */
function packBoth(repository: Repository, folder: string): Readonly<Record<string, string>> {
  const files = packInto(repository, folder);
  for (const [name, file] of Object.entries(files)) {
    const bill = billOf(name, Object.values(files));
    writeFileSync(file.replace(/\.tgz$/, ".cdx.json"), `${JSON.stringify(bill, null, 2)}\n`);
  }
  return files;
}

/** Builds the repository and packs both packages into a folder. Returns the files by the names of the packages. */
export function packInto(repository: Repository, folder: string): Readonly<Record<string, string>> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const { version } = repository.readManifest();
  run(repository, ["run", "build"]);
  const pack = ["pack", "--ignore-scripts", "--pack-destination", folder];
  run(repository, pack);
  run(repository, [...pack, "--workspace", CREATE]);
  return Object.fromEntries(["mcp-edge", CREATE].map((name) => [name, join(folder, `${name}-${version}.tgz`)]));
}

function isPublished(repository: Repository, spec: string): boolean {
  try {
    const { command, args, ...options } = findProgram("npm", ["view", spec, "version"]);
    return execFileSync(command, args, { ...options, cwd: repository.root, encoding: "utf8" }).trim() !== "";
  } catch {
    // npm also ends with an error if the package does not exist.
    return false;
  }
}

function run(repository: Repository, args: readonly string[]): void {
  const { command, args: all, ...options } = findProgram("npm", args);
  execFileSync(command, all, { ...options, cwd: repository.root, stdio: ["ignore", "inherit", "inherit"] });
}
