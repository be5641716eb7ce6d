// @module-tag long
/** A release refuses to go on while something is missing. Each test has a small repository of its own. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findProblemsAfter, findProblemsBefore } from "../../scripts/release/checks.ts";
import { beginTests, havePassed, passTests } from "../../scripts/release/passed.ts";
import { writeVersion } from "../../scripts/release/prepare.ts";
import { publish } from "../../scripts/release/publish.ts";
import { findSection, isHigher, PACKAGES, Repository } from "../../scripts/release/repository.ts";
import { type BillOfMaterials, withRoot } from "../../scripts/release/sbom.ts";

let repository: Repository;

function write(file: string, content: string | object): void {
  const path = join(repository.root, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`);
}

function commit(): void {
  repository.git("add", "--all");
  repository.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "a");
}

/** Commits docs/tier.md about the present sources, as `npm run tier` and `git commit` do. */
function rate(): void {
  write("docs/tier.md", `tree of src: ${repository.git("rev-parse", "HEAD:src")}`);
  commit();
}

const LAYOUT = { "key keys/keys": { number: 1, layout: "string" } };
const MANIFEST = { name: "mcp-edge", version: "0.1.0", repository: "https://example.com/a.git", files: ["docs"] };
const CREATE = { ...MANIFEST, name: "create-mcp-edge", files: ["index.js"], dependencies: { "mcp-edge": "^0.1.0" } };
const MIGRATE = { ...MANIFEST, name: "mcp-edge-migrate", files: ["bin", "dist"] };
const OPENAPI = { ...MANIFEST, name: "mcp-edge-openapi", files: ["bin", "dist"] };

const PLACE = mkdtempSync(join(tmpdir(), "mcp-edge-release-"));
const ORIGINAL = join(PLACE, "original");

beforeAll(() => {
  repository = new Repository(ORIGINAL);
  mkdirSync(ORIGINAL);
  execFileSync("git", ["init", "--quiet"], { cwd: repository.root });
  write(".gitignore", "node_modules\n/release/\ndist/\n*.secret\n");
  write("src/index.ts", "export {};\n");
  write("package.json", MANIFEST);
  write("create-mcp-edge/package.json", CREATE);
  write("packages/migrate/package.json", MIGRATE);
  write("packages/openapi/package.json", OPENAPI);
  write("templates/dice/package.json", { version: "1.0.0", dependencies: { "mcp-edge": "^0.1.0", zod: "^4.0.0" } });
  write("README.md", "npm install mcp-edge-0.1.0.tgz\n");
  write("CHANGELOG.md", "# Changelog\n\n## 1.0.0 (unreleased)\n\n- Everything.\n\n## 0.1.0 (2026-01-01)\n\n- Less.\n");
  const lock = {
    name: "mcp-edge",
    version: "0.1.0",
    packages: {
      "": MANIFEST,
      "create-mcp-edge": CREATE,
      "packages/migrate": MIGRATE,
      "packages/openapi": OPENAPI,
      "templates/dice": { version: "1.0.0", dependencies: { "mcp-edge": "^0.1.0" } },
      "node_modules/zod": { version: "0.1.0" },
    },
  };
  write("package-lock.json", lock);
  write("test/releases/layouts.json", LAYOUT);
  write("test/releases/0.1.0/layouts.json", LAYOUT);
  commit();
  rate();
});
beforeEach(() => {
  repository = new Repository(mkdtempSync(join(PLACE, "copy-")));
  cpSync(ORIGINAL, repository.root, { recursive: true });
});
afterAll(() => rmSync(PLACE, { recursive: true, force: true }));

/** Does what `prepare` does to files, apart from the real fixture, and records that the tests have passed. */
function prepared(): void {
  writeVersion(repository, "1.0.0", "2026-12-01");
  write("test/releases/1.0.0/layouts.json", LAYOUT);
  commit();
  beginTests(repository);
  passTests(repository);
}

test("a clean tree with a changelog can be prepared, and then published", () => {
  expect(findProblemsBefore(repository, "1.0.0")).toEqual([]);
  prepared();
  expect(findProblemsAfter(repository, true)).toEqual([]);
});

describe("preparation is refused", () => {
  test.each<[string, () => void, string]>([
    ["with a changed file", () => write("README.md", "changed"), "The tree has changes"],
    ["with a new file", () => write("new.txt", ""), "new.txt"],
    [
      "without a section in the changelog",
      () => write("CHANGELOG.md", "## 0.1.0 (2026-01-01)\n"),
      'no section "## 1.0.0 (unreleased)"',
    ],
    ["with an empty section", () => write("CHANGELOG.md", "## 1.0.0 (unreleased)\n\n## 0.1.0 (a)\n"), "no section"],
    [
      "with a layout that has changed without a number",
      () => write("test/releases/layouts.json", { "key keys/keys": { number: 1, layout: "number" } }),
      '"key keys/keys" has changed',
    ],
    [
      "with a report of the tier about other sources",
      () => {
        write("src/index.ts", "export const a = 1;\n");
        commit();
      },
      "docs/tier.md is about other sources",
    ],
  ])("%s", (_, change, text) => {
    change();
    expect(findProblemsBefore(repository, "1.0.0").join("\n")).toContain(text);
  });

  test.each([
    ["1.0.0-beta.1", "is not a version"],
    ["latest", "is not a version"],
    ["0.1.0", "is not higher than 0.1.0"],
    ["0.0.9", "is not higher than 0.1.0"],
  ])("of the version %s", (version, text) => {
    expect(findProblemsBefore(repository, version).join("\n")).toContain(text);
  });
});

describe("publication is refused", () => {
  test("before the preparation", () => {
    const problems = findProblemsAfter(repository, false).join("\n");
    expect(problems).toContain("The tests have not passed");
    write("CHANGELOG.md", "## 0.1.0 (unreleased)\n\n- All.\n");
    expect(findProblemsAfter(repository, false).join("\n")).toContain("no section of 0.1.0 with a date");
  });

  test.each<[string, () => void, string]>([
    [
      "without the fixture",
      () => rmSync(join(repository.root, "test/releases/1.0.0"), { recursive: true }),
      "no fixture",
    ],
    ["with a changed file", () => write("README.md", "changed"), "The tree has changes"],
    ["with another version of create-mcp-edge", () => write("create-mcp-edge/package.json", CREATE), "does not belong"],
    [
      "with another version of mcp-edge-openapi, which mcp-edge would fetch in its own version",
      () => write("packages/openapi/package.json", OPENAPI),
      "packages/openapi does not belong to 1.0.0",
    ],
    [
      "with another version of mcp-edge-migrate, which mcp-edge would fetch in its own version",
      () => write("packages/migrate/package.json", MIGRATE),
      "packages/migrate does not belong to 1.0.0",
    ],
    [
      "with a file that git ignores and npm would pack",
      () => {
        write("packages/migrate/dist/main.js", "");
        write("docs/.wrangler/state", "");
        write("docs/notes.secret", "");
      },
      "would be packed. Remove them:\ndocs/notes.secret",
    ],
    [
      "with a new file, even if git is set to hide new files",
      () => {
        repository.git("config", "status.showUntrackedFiles", "no");
        write("docs/new.md", "");
      },
      "?? docs/",
    ],
    ["when the version has a tag", () => repository.git("tag", "v1.0.0"), "The tag v1.0.0 exists"],
    [
      "with a later commit, on which no tests have run",
      () => {
        write("README.md", "later");
        commit();
      },
      "The tests have not passed",
    ],
    [
      "without a repository, which provenance names",
      () => {
        const { repository: _, ...without } = { ...MANIFEST, version: "1.0.0" };
        write("package.json", without);
      },
      "cannot be signed",
    ],
  ])("%s", (_, change, text) => {
    prepared();
    change();
    expect(findProblemsAfter(repository, true).join("\n")).toContain(text);
  });
});

describe("publishing", () => {
  const digest = `sha512-${createHash("sha512").update("packed").digest("base64")}`;
  const options = { isDryRun: false, isSigned: true };
  let published: Record<string, string>;
  let commands: string[];
  const npm = ([command = "", ...args]: readonly string[]): string => {
    if (!args.includes("--registry=https://registry.npmjs.org/")) throw new Error("another registry");
    if (command === "view") return `${published[args[0] ?? ""] ?? ""}\n`;
    commands.push([command, ...args].join(" ").replace(repository.root, ""));
    return "";
  };
  beforeEach(() => {
    published = {};
    commands = [];
    for (const name of Object.keys(PACKAGES)) write(`release/${name}-0.1.0.tgz`, "packed");
  });

  test("all packages are published at npm, first the package that mcp-edge fetches", () => {
    expect(publish(repository, options, npm)).toEqual([]);
    const rest = "--registry=https://registry.npmjs.org/ --access=public --tag=latest --provenance";
    expect(commands).toEqual(
      ["mcp-edge-migrate", "mcp-edge-openapi", "mcp-edge", "create-mcp-edge"].map(
        (name) => `publish /release/${name}-0.1.0.tgz ${rest}`,
      ),
    );
  });

  test("a file that is published already is not published again", () => {
    published = { "mcp-edge-migrate@0.1.0": digest, "mcp-edge-openapi@0.1.0": digest, "mcp-edge@0.1.0": digest };
    expect(publish(repository, options, npm)).toEqual([]);
    expect(commands).toEqual([expect.stringContaining("create-mcp-edge-0.1.0.tgz")]);
  });

  test("nothing is published if npm has another content for one of the versions", () => {
    published = { "create-mcp-edge@0.1.0": "sha512-other" };
    expect(publish(repository, options, npm)).toEqual([
      "create-mcp-edge@0.1.0 is published already, with another content: sha512-other.",
    ]);
    expect(commands).toEqual([]);
  });

  test("nothing is published if a packed file is missing", () => {
    rmSync(join(repository.root, "release/create-mcp-edge-0.1.0.tgz"));
    expect(publish(repository, options, npm).join()).toContain("create-mcp-edge-0.1.0.tgz is missing");
    expect(commands).toEqual([]);
  });
});

test("tests count for a commit only if they began and ended on it, without changes", () => {
  write("README.md", "changed");
  beginTests(repository);
  expect(passTests(repository)).toBe(false);
  commit();
  expect(passTests(repository)).toBe(false);
  beginTests(repository);
  write("README.md", "again");
  expect(passTests(repository)).toBe(false);
  repository.git("checkout", "--quiet", "README.md");
  expect([passTests(repository), havePassed(repository)]).toEqual([true, true]);
});

test("a version is written into the manifests, the lock file, the documents and the changelog, and nowhere else", () => {
  writeVersion(repository, "1.0.0", "2026-12-01");
  const json = (file: string) => JSON.parse(readFileSync(join(repository.root, file), "utf8"));
  expect(json("package.json").version).toBe("1.0.0");
  expect(json("create-mcp-edge/package.json")).toMatchObject({
    version: "1.0.0",
    dependencies: { "mcp-edge": "^1.0.0" },
  });
  expect(json("packages/migrate/package.json").version).toBe("1.0.0");
  expect(json("templates/dice/package.json")).toEqual({
    version: "1.0.0",
    dependencies: { "mcp-edge": "^1.0.0", zod: "^4.0.0" },
  });
  expect(json("package-lock.json")).toMatchObject({
    version: "1.0.0",
    packages: {
      "": { version: "1.0.0" },
      "create-mcp-edge": { version: "1.0.0", dependencies: { "mcp-edge": "^1.0.0" } },
      "packages/migrate": { version: "1.0.0" },
      "templates/dice": { version: "1.0.0", dependencies: { "mcp-edge": "^1.0.0" } },
      "node_modules/zod": { version: "0.1.0" },
    },
  });
  expect(readFileSync(join(repository.root, "README.md"), "utf8")).toBe("npm install mcp-edge-1.0.0.tgz\n");
  const changelog = readFileSync(join(repository.root, "CHANGELOG.md"), "utf8");
  expect(findSection(changelog, "1.0.0")).toEqual({ state: "2026-12-01", text: "- Everything." });
  expect(findSection(changelog, "0.1.0")).toEqual({ state: "2026-01-01", text: "- Less." });
});

test("versions are compared by their numbers", () => {
  expect([isHigher("1.10.0", "1.9.0"), isHigher("1.9.0", "1.10.0"), isHigher("1.0.0", "1.0.0")]).toEqual([
    true,
    false,
    false,
  ]);
});

test("a bill of materials is about the package, and has only what it depends on", () => {
  const component = (name: string) => ({ "bom-ref": `${name}@1.0.0`, name });
  const bill: BillOfMaterials = {
    metadata: { component: component("sbom") },
    components: ["mcp-edge", "hono", "create-mcp-edge", "deep"].map(component),
    dependencies: [
      { ref: "sbom@1.0.0", dependsOn: ["mcp-edge@1.0.0", "create-mcp-edge@1.0.0"] },
      { ref: "create-mcp-edge@1.0.0", dependsOn: ["mcp-edge@1.0.0"] },
      { ref: "mcp-edge@1.0.0", dependsOn: ["hono@1.0.0"] },
      { ref: "hono@1.0.0", dependsOn: ["deep@1.0.0", "hono@1.0.0"] },
    ],
  };
  const { metadata, components, dependencies } = withRoot(bill, "mcp-edge");
  expect(metadata.component.name).toBe("mcp-edge");
  expect(components.map(({ name }) => name)).toEqual(["hono", "deep"]);
  expect(dependencies.map(({ ref }) => ref)).toEqual(["mcp-edge@1.0.0", "hono@1.0.0"]);
  expect(() => withRoot(bill, "other")).toThrow("other is not in the bill of materials");
});
