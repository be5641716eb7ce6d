import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { packTemplates } from "../../scripts/pack-templates.ts";

/** Returns what is packed of a repository with these files in templates/, all of which are in git except those after "?". */
function packed(...files: readonly string[]): string[] {
  const root = mkdtempSync(join(tmpdir(), "mcp-edge-pack-"));
  try {
    execFileSync("git", ["init", "--quiet"], { cwd: root });
    for (const file of files) {
      const path = join(root, "templates", file.replace("?", ""));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, file.endsWith("package.json") ? "{}" : "");
      if (!file.startsWith("?")) execFileSync("git", ["add", "--force", path], { cwd: root });
    }
    packTemplates(root);
    const found = readdirSync(join(root, "dist/templates"), { recursive: true, withFileTypes: true });
    return found
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(root, "dist/templates/").length))
      .sort();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

test("packs the files that are in git, with .gitignore under a name that npm packs", () => {
  expect(packed("a/.gitignore", "a/src/index.ts", "a/.dev.vars.example", "?a/notes.txt")).toEqual([
    "a/.dev.vars.example",
    "a/_gitignore",
    "a/src/index.ts",
  ]);
});

test("adds instructions for coding agents to each template", () => {
  expect(packed("a/package.json", "b/package.json", "b/src/index.ts")).toEqual([
    "a/AGENTS.md",
    "a/package.json",
    "b/AGENTS.md",
    "b/package.json",
    "b/src/index.ts",
  ]);
});

test("packs neither secrets nor installed or built files, even if they are in git", () => {
  const files = ["a/.dev.vars", "a/.dev.vars.production", "a/.wrangler/state/x", "a/node_modules/b/index.js"];
  expect(packed("a/package.json", ...files)).toEqual(["a/AGENTS.md", "a/package.json"]);
});
