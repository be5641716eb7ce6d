/** The second step of a release: packs all packages into a folder, and describes them. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../../src/node/program.ts";
import { findProblemsAfter } from "./checks.ts";
import { FOLDER, findSection, PACKAGES, type Repository } from "./repository.ts";
import { billOf } from "./sbom.ts";

/**
 * Packs the version that has been prepared, with a bill of materials for each package and the notes of the release. Returns what
 * prevents it; then nothing is packed.
 *
 * @param isSigned Whether npm will sign the provenance.
 */
export function pack(repository: Repository, isSigned: boolean): string[] {
  const problems = findProblemsAfter(repository, isSigned);
  if (problems.length > 0) return problems;
  const folder = join(repository.root, FOLDER);
  const files = packInto(repository, folder);
  for (const [name, file] of Object.entries(files)) {
    const bill = billOf(name, Object.values(files));
    writeFileSync(file.replace(/\.tgz$/, ".cdx.json"), `${JSON.stringify(bill, null, 2)}\n`);
  }
  const { version } = repository.readManifest();
  writeFileSync(join(folder, "notes.md"), findSection(repository.read("CHANGELOG.md"), version)?.text ?? "");
  return [];
}

/** Builds the repository and packs all packages into a folder. Returns the files by the names of the packages. */
export function packInto(repository: Repository, folder: string): Readonly<Record<string, string>> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const { version } = repository.readManifest();
  run(repository, ["run", "build"]);
  const options = ["pack", "--ignore-scripts", "--pack-destination", folder];
  for (const place of Object.values(PACKAGES)) {
    run(repository, place === "." ? options : [...options, "--workspace", place]);
  }
  return Object.fromEntries(Object.keys(PACKAGES).map((name) => [name, join(folder, `${name}-${version}.tgz`)]));
}

function run(repository: Repository, args: readonly string[]): void {
  const { command, args: all, ...options } = findProgram("npm", args);
  execFileSync(command, all, { ...options, cwd: repository.root, stdio: ["ignore", "inherit", "inherit"] });
}
