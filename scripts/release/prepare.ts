/** The first step of a release: the commit that contains its version, its date, and the fixture for tests of later releases. */
import { join } from "node:path";
import { findDifferences } from "../../test/releases/layouts.ts";
import { observeLayouts, readLayouts, writeRelease } from "../../test/releases/releases.ts";
import { findProblemsBefore } from "./checks.ts";
import { CREATE, FETCHED, type Manifest, PACKAGES, type Repository } from "./repository.ts";

/** Runs a script of the repository. Returns its exit code. */
type Run = (script: string) => number;

/** Prepares a version. Returns what prevents it; then nothing is committed. */
export async function prepare(repository: Repository, version: string, date: string, run: Run): Promise<string[]> {
  const problems = findProblemsBefore(repository, version);
  if (problems.length > 0) return problems;
  if (run("scripts/build.ts") !== 0) return ["The build fails."];
  if (run("scripts/api.ts") !== 0) problems.push("docs/reference/api is out of date. Run npm run api -- --write.");
  if (run("scripts/options.ts") !== 0) problems.push("npm run docs:reference fails.");
  const changed = repository.changes("docs");
  if (changed.length > 0)
    problems.push(`docs/reference was out of date, and has been written again:\n${changed.join("\n")}`);
  const differences = findDifferences(await observeLayouts(), readLayouts());
  if (differences.length > 0) problems.push(`test/releases/layouts.json is out of date:\n${differences.join("\n")}`);
  if (problems.length > 0) return problems;
  writeVersion(repository, version, date);
  if (run("scripts/build.ts") !== 0) return ["The build fails."];
  await writeRelease(version);
  repository.git("add", "--all");
  repository.git("commit", "--quiet", "--message", `release: ${version}`);
  return [];
}

/** Writes the version into every file that names it, and the date into the changelog. */
export function writeVersion(repository: Repository, version: string, date: string): void {
  const before = repository.readManifest().version;
  const files = repository.git("ls-files", "templates", "docs", "README.md").split("\n");
  for (const file of files) {
    if (/^templates\/[^/]+\/package\.json$/.test(file)) writeManifest(repository, file, version, false);
    else if (file.endsWith(".md")) replaceIn(repository, file, `mcp-edge-${before}.tgz`, `mcp-edge-${version}.tgz`);
  }
  for (const folder of Object.values(PACKAGES)) writeManifest(repository, join(folder, "package.json"), version, true);
  writeLock(repository, version);
  replaceIn(repository, "CHANGELOG.md", `## ${version} (unreleased)`, `## ${version} (${date})`);
}

function replaceIn(repository: Repository, file: string, find: string, replace: string): void {
  const text = repository.read(file);
  if (text.includes(find)) repository.write(file, text.replaceAll(find, replace));
}

function writeManifest(repository: Repository, file: string, version: string, isOurs: boolean): void {
  const manifest = JSON.parse(repository.read(file)) as Manifest;
  setVersion(manifest, version, isOurs);
  repository.write(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Changes the entries of the workspaces as npm would, so that no package is resolved again. */
function writeLock(repository: Repository, version: string): void {
  const lock = JSON.parse(repository.read("package-lock.json")) as Manifest & {
    readonly packages: Readonly<Record<string, Manifest>>;
  };
  lock.version = version;
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path.includes("node_modules/")) continue;
    setVersion(entry, version, ["", CREATE, ...Object.values(FETCHED)].includes(path));
  }
  repository.write("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
}

function setVersion(manifest: Manifest, version: string, isOurs: boolean): void {
  if (isOurs) manifest.version = version;
  if (manifest.dependencies?.["mcp-edge"] !== undefined) manifest.dependencies["mcp-edge"] = `^${version}`;
}
