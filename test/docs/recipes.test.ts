// @module-tag long
/** Each recipe is copied into one project, as a reader would, and its test passes there. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { filesOf, linkPackages, readPages, writeBlock } from "./reader-project.ts";

const recipes = readPages("recipes").filter(({ name }) => name !== "README.md");
interface Report {
  readonly testResults: readonly { readonly name: string; readonly status: string; readonly message: string }[];
}

let folder: string;
let report: Report;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mcp-edge-recipes-"));
  linkPackages(folder);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const block of recipes.flatMap(filesOf)) writeBlock(folder, block);
  const args = ["run", "--no-isolate", "--reporter", "json", "--outputFile", "report.json"];
  const { stderr } = spawnSync("node_modules/.bin/vitest", args, { cwd: folder, encoding: "utf8" });
  expect(stderr).toBe("");
  report = JSON.parse(readFileSync(join(folder, "report.json"), "utf8")) as Report;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(recipes)("the recipe $name works as printed", (recipe) => {
  const [own, ...more] = filesOf(recipe).filter(({ title = "" }) => title.endsWith(".test.ts"));
  expect(more).toEqual([]);
  const result = report.testResults.find(({ name }) => basename(name) === basename(own?.title ?? ""));
  expect(result).toMatchObject({ status: "passed", message: "" });
});

test("the list of recipes links every recipe", () => {
  const list = readPages("recipes").find(({ name }) => name === "README.md");
  const links = [...(list?.text.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm) ?? [])].map(([, name]) => name);
  expect(links.sort()).toEqual(recipes.map(({ name }) => name));
});
