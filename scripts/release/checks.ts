/** The conditions for preparing and for publishing a release. Each check returns what is wrong. */
import { posix } from "node:path";
import { findUnnumbered, type Layouts } from "../../test/releases/layouts.ts";
import { havePassed } from "./passed.ts";
import { CREATE, FETCHED, findSection, isHigher, PACKAGES, type Repository, VERSION } from "./repository.ts";

const LAYOUTS = "test/releases/layouts.json";

/** Returns what prevents the preparation of a version, as far as files show it. */
export function findProblemsBefore(repository: Repository, version: string): string[] {
  if (!VERSION.test(version)) return [`${JSON.stringify(version)} is not a version such as 1.0.0.`];
  const problems = [...findChanges(repository), ...findLayoutProblems(repository), ...findTierProblems(repository)];
  const current = repository.readManifest().version;
  if (!isHigher(version, current)) problems.push(`${version} is not higher than ${current}.`);
  const section = findSection(repository.read("CHANGELOG.md"), version);
  if (section?.state !== "unreleased" || section.text === "") {
    problems.push(`CHANGELOG.md has no section "## ${version} (unreleased)" with a text.`);
  }
  return problems;
}

/** Returns what prevents the publication of the version that has been prepared. */
export function findProblemsAfter(repository: Repository, isSigned: boolean): string[] {
  const problems = [...findChanges(repository), ...findLayoutProblems(repository), ...findTierProblems(repository)];
  const { version } = repository.readManifest();
  const prepare = `Run npm run release -- prepare ${version}.`;
  const section = findSection(repository.read("CHANGELOG.md"), version);
  if (!/^\d{4}-\d\d-\d\d$/.test(section?.state ?? "")) {
    problems.push(`CHANGELOG.md has no section of ${version} with a date. ${prepare}`);
  }
  if (!repository.has(`test/releases/${version}/layouts.json`)) {
    problems.push(`test/releases has no fixture of ${version}. ${prepare}`);
  }
  const create = repository.readManifest(CREATE);
  if (create.version !== version || create.dependencies?.["mcp-edge"] !== `^${version}`) {
    problems.push(`${CREATE} does not belong to ${version}. ${prepare}`);
  }
  for (const folder of Object.values(FETCHED)) {
    if (repository.readManifest(folder).version !== version)
      problems.push(`${folder} does not belong to ${version}. ${prepare}`);
  }
  problems.push(...findIgnored(repository));
  if (repository.git("tag", "--list", `v${version}`) !== "") problems.push(`The tag v${version} exists.`);
  if (!havePassed(repository)) {
    problems.push("The tests have not passed on this commit. Run npm run test:all.");
  }
  const isNamed = Object.values(PACKAGES).every((folder) => repository.readManifest(folder).repository !== undefined);
  if (isSigned && !isNamed) {
    problems.push(
      "A package without the member repository cannot be signed. Add it to the package.json of each package.",
    );
  }
  return problems;
}

function findChanges(repository: Repository): string[] {
  const changes = repository.changes();
  return changes.length === 0 ? [] : [`The tree has changes that are not committed:\n${changes.join("\n")}`];
}

/** Files that git ignores belong to no commit, but npm packs them. The build writes dist anew. */
function findIgnored(repository: Repository): string[] {
  const packed = Object.values(PACKAGES).flatMap((folder) => {
    const { files = [] } = repository.readManifest(folder);
    return files.filter((file) => !file.startsWith("!") && file !== "dist").map((file) => posix.join(folder, file));
  });
  const ignored = packed.length === 0 ? [] : repository.ignored(...packed);
  const found = ignored.filter((file) => !NEVER_PACKED.test(file));
  return found.length === 0 ? [] : [`Files that git ignores would be packed. Remove them:\n${found.join("\n")}`];
}
/** Matches what `files` of package.json excludes. */
const NEVER_PACKED = /(^|\/)(\.wrangler\/|worker-configuration\.d\.ts$)/;

/** Compares the layouts with those of all releases. */
function findLayoutProblems(repository: Repository): string[] {
  const layouts = JSON.parse(repository.read(LAYOUTS)) as Layouts;
  const files = repository.git("ls-files", "test/releases").split("\n");
  return files
    .filter((file) => /^test\/releases\/\d+\.\d+\.\d+\/layouts\.json$/.test(file) && repository.has(file))
    .flatMap((file) => findUnnumbered(layouts, JSON.parse(repository.read(file)) as Layouts));
}

/** The report of docs/tier.md names the sources that it is about. */
function findTierProblems(repository: Repository): string[] {
  const tree = repository.git("rev-parse", "HEAD:src");
  if (repository.has("docs/tier.md") && repository.read("docs/tier.md").includes(tree)) return [];
  return ["docs/tier.md is about other sources. Run npm run tier, and commit it."];
}
