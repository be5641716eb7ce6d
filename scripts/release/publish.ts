/**
 * The last step of a release: publishes exactly the packed files. It imports no package, because the job of the workflow that runs it may
 * publish, and therefore installs nothing: `node scripts/release/publish.ts`.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../../src/node/program.ts";
import { FOLDER, PACKAGES, Repository } from "./repository.ts";

/** How to publish. */
export interface PublishOptions {
  /** Whether npm only shows what it would publish. */
  readonly isDryRun: boolean;
  /** Whether npm signs the provenance, which requires a workflow of GitHub. */
  readonly isSigned: boolean;
}

/** Runs npm, and returns what it prints. Throws if it fails. */
export type RunNpm = (args: readonly string[]) => string;

/** Named in each command, because a setting of the user could name another registry. */
const REGISTRY = "--registry=https://registry.npmjs.org/";

/** Publishes the files that have been packed. Returns what prevents it; then nothing is published. */
export function publish(
  repository: Repository,
  { isDryRun, isSigned }: PublishOptions,
  npm: RunNpm = createNpm(repository),
): string[] {
  const { version } = repository.readManifest();
  const packed = Object.keys(PACKAGES).map((name) => {
    const file = join(repository.root, FOLDER, `${name}-${version}.tgz`);
    return { spec: `${name}@${version}`, file };
  });
  const missing = packed.filter(({ file }) => !existsSync(file));
  if (missing.length > 0) return missing.map(({ file }) => `${file} is missing.`);
  const states = packed.map((each) => ({ ...each, published: isDryRun ? "" : findPublished(npm, each.spec) }));
  const others = states.filter(({ file, published }) => published !== "" && published !== integrityOf(file));
  if (others.length > 0) {
    return others.map(({ spec, published }) => `${spec} is published already, with another content: ${published}.`);
  }
  for (const { file, published } of states) {
    if (published !== "") continue;
    const options = [...(isDryRun ? ["--dry-run"] : []), ...(isSigned ? ["--provenance"] : [])];
    npm(["publish", file, REGISTRY, "--access=public", "--tag=latest", ...options]);
  }
  return [];
}

/** Returns the digest of a version at npm; an empty string if it is not published. */
function findPublished(npm: RunNpm, spec: string): string {
  try {
    return npm(["view", spec, "dist.integrity", REGISTRY]).trim();
  } catch {
    // npm also ends with an error if the package does not exist. It refuses to publish a version twice.
    return "";
  }
}

function integrityOf(file: string): string {
  return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
}

function createNpm(repository: Repository): RunNpm {
  return (all) => {
    const { command, args, ...options } = findProgram("npm", all);
    return execFileSync(command, args, {
      ...options,
      cwd: repository.root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
  };
}

if (import.meta.filename === process.argv[1]) {
  const repository = new Repository(join(import.meta.dirname, "../.."));
  const problems = publish(repository, { isDryRun: false, isSigned: process.env.GITHUB_ACTIONS === "true" });
  for (const problem of problems) console.error(`- ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}
