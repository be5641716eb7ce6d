import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { testsNear } from "../../scripts/near.ts";

// In one piece, this would tag these tests as well.
const LONG = ["// @module-tag", "long"].join(" ");

const root = `${mkdtempSync(join(tmpdir(), "mcp-edge-near-"))}/`;
afterAll(() => rmSync(root, { recursive: true }));

for (const [file, text] of Object.entries({
  "src/core/seal.ts": "export const seal = 1;\n",
  "src/worker/edge.ts": 'import { seal } from "../core/seal.ts";\n',
  "test/seal.test.ts": 'import { seal } from "../src/core/seal.ts";\n',
  "test/worker/fixture.ts": 'import { edge } from "../../src/worker/edge.ts";\n',
  "test/worker/edge.test.ts": 'const worker = await startWorker({ entry: "test/worker/fixture.ts" });\n',
  "test/slow.test.ts": `${LONG}\nimport { seal } from "../src/core/seal.ts";\n`,
  "test/other.test.ts": 'import { expect } from "vitest";\n',
})) {
  mkdirSync(dirname(root + file), { recursive: true });
  writeFileSync(root + file, text);
}

test("the tests that reach a file by imports, or by naming a Worker, are found in order of distance, without long tests", () => {
  expect(testsNear(root, ["src/core/seal.ts"])).toEqual({
    near: ["test/seal.test.ts", "test/worker/edge.test.ts"],
    unknown: [],
  });
  expect(testsNear(root, ["./src/worker/edge.ts"]).near).toEqual(["test/worker/edge.test.ts"]);
});

test("a file that does not exist is reported by name", () => {
  expect(testsNear(root, ["src/nothing.ts"])).toEqual({ near: [], unknown: ["src/nothing.ts"] });
});

test("no test of `npm test` needs a browser, a shell or a Node that may not be installed", () => {
  const files = ["programs", "chromium", "nodes"].map((name) => `test/harness/${name}.ts`);
  expect(testsNear(`${join(import.meta.dirname, "../..")}/`, files)).toEqual({ near: [], unknown: [] });
});
