// @module-tag long
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hasTimedOut, type Report } from "../../scripts/mutant-report.ts";

const ROOT = join(import.meta.dirname, "../..");
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mcp-edge-report-"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a file of tests and returns its report. */
async function reportOf(tests: string): Promise<Report> {
  writeFileSync(join(folder, "one.test.mjs"), `import { beforeAll, expect, test } from "vitest";\n${tests}`);
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--reporter=json", "--outputFile=report.json"];
  await new Promise((resolve) => execFile(process.execPath, args, { cwd: folder }, resolve));
  return JSON.parse(readFileSync(join(folder, "report.json"), "utf8")) as Report;
}

const NEVER = "new Promise(() => {})";

test.each([
  ["a test that takes too long", `test("a", () => ${NEVER}, 10);`, true],
  ["a hook that takes too long", `beforeAll(() => ${NEVER}, 10); test("a", () => {});`, true],
  ["a poll", 'test("a", () => expect.poll(() => 1, { timeout: 10 }).toBe(2));', true],
  ["an assertion", 'test("a", () => expect(1).toBe(2));', false],
  ["a passing test", 'test("a", () => {});', false],
])("the result of %s is recognised as a time-out or not", async (_, tests, expected) => {
  expect(hasTimedOut(await reportOf(tests))).toBe(expected);
});
