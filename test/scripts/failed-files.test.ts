/** The failed files of a run, read from the report that the installed vitest writes. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readFailedFiles } from "../../scripts/failed-files.ts";
import { ROOT } from "../../scripts/tools.ts";

const FILES = {
  "passes.test.js": "test('passes', () => {});",
  "fails.test.js":
    "describe('a group', () => { test('fails', () => { throw new Error('no'); }); test('passes', () => {}); });",
  "property.test.js": `import fc from ${JSON.stringify(import.meta.resolve("fast-check"))};
test('holds for all', () => fc.assert(fc.property(fc.integer(), (value) => value < 5)));`,
  "broken.test.js": "throw new Error('This file cannot be loaded.');",
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "failed-files-"));
  mkdirSync(join(folder, "test"));
  // Vitest therefore looks for a configuration here only.
  writeFileSync(join(folder, "vitest.config.js"), "export default {};");
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, "test", name), content);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("failed files have the names of their failed tests, and say whether a property has a counterexample", () => {
  const report = join(folder, "report.json");
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const options = ["--globals", "--reporter=json", `--outputFile=${report}`];
  const { status } = spawnSync(process.execPath, [vitest, "run", "--root", folder, ...options], { cwd: folder });
  expect(status).toBe(1);
  const failed = [...(readFailedFiles(report, folder) ?? [])].sort((one, other) => (one.path < other.path ? -1 : 1));
  expect(failed).toEqual([
    { path: "test/broken.test.js", tests: [], hasCounterexample: false },
    { path: "test/fails.test.js", tests: ["a group fails"], hasCounterexample: false },
    { path: "test/property.test.js", tests: ["holds for all"], hasCounterexample: true },
  ]);
});

test("without a report, nothing is known about the run", () => {
  expect(readFailedFiles(join(folder, "missing.json"), folder)).toBeUndefined();
});
