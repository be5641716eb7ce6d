import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EQUIVALENT, MUTANTS } from "./index.ts";

const ROOT = join(import.meta.dirname, "../..");
const all = [...MUTANTS, ...EQUIVALENT];

test.each(all.map((mutant) => [mutant.id, mutant] as const))("%s can be applied", (_, { file, find, replace }) => {
  expect(readFileSync(join(ROOT, file), "utf8").split(find)).toHaveLength(2);
  expect(find).not.toContain("\n");
  expect(replace).not.toBe(find);
});

test("each mutant has a unique id and names existing tests", () => {
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const named = new Set(MUTANTS.flatMap(({ tests }) => tests));
  expect([...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(MUTANTS.filter(({ tests }) => tests.length === 0)).toEqual([]);
});

test("there are at least 150 mutants, and every room of src has some", () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(150);
  // The reference server is left out: it consists of examples, which have their own tests.
  const rooms = readdirSync(join(ROOT, "src")).filter((room) => room !== "reference");
  expect(rooms.filter((room) => !MUTANTS.some(({ file }) => file.startsWith(`src/${room}/`)))).toEqual([]);
});
