import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ARCHITECTURE_FILE, findStale, sourcePaths, withTables } from "../../scripts/rooms-table.ts";

const document = readFileSync(ARCHITECTURE_FILE, "utf8");
const paths = sourcePaths();

test("the tables of docs/architecture.md are up to date, contain every folder, and name only existing files", () => {
  expect(findStale(document, paths)).toEqual([]);
});

test("a different table is reported as stale, and writing the tables again repairs it", () => {
  const changed = document.replace("| `src/http` |", "| `src/https` |");
  expect(findStale(changed, paths)).toEqual([
    "docs/architecture.md: the tables of rooms are stale: npm run docs:reference",
  ]);
  expect(withTables(changed)).toBe(document);
});

test("a file that does not exist is reported by name, whether its path begins in src or in a folder", () => {
  const walk =
    "\nThen `http/gone.ts` and `src/core/gone-too.ts`, but `http/endpoint.ts` and `scripts/rooms.ts` exist.\n";
  expect(findStale(document + walk, paths)).toEqual([
    "docs/architecture.md: no file below src ends with http/gone.ts",
    "docs/architecture.md: no file below src ends with core/gone-too.ts",
  ]);
});

test("a folder that is in no table is reported, and so is a description without a folder", () => {
  const moved = paths.map((path) => path.replace(/^worker\/page\//, "worker/attic/"));
  expect(findStale(document, [...moved, "cellar/wine.ts", "core/attic/old.ts"])).toEqual([
    "src/worker/attic: not in the tables of docs/architecture.md; add it to scripts/rooms-table.ts",
    "src/cellar: not in the tables of docs/architecture.md; add it to scripts/rooms-table.ts",
    "src/core/attic: not in the tables of docs/architecture.md; add it to scripts/rooms-table.ts",
    "scripts/rooms-table.ts: src/worker/page does not exist",
  ]);
});

test("a document without the lines around the tables cannot be written", () => {
  expect(() => withTables("# Architecture\n")).toThrow("lacks the lines");
});
