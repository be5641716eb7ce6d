import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LISTS, MUTANTS } from "./index.ts";
import type { Mutant } from "./mutant.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Returns why a mutant cannot be applied, or undefined if it can. */
function problemOf({ file, find, replace, tests }: Mutant): string | undefined {
  if (!existsSync(join(ROOT, file))) return `${file} does not exist`;
  const times = readFileSync(join(ROOT, file), "utf8").split(find).length - 1;
  if (times !== 1) return `${file} has "${find}" ${times} times`;
  if (find.includes("\n") || find === replace) return "find must be one line that replace changes";
  if (tests.length === 0) return "no test is named";
  return tests.find((test) => !existsSync(join(ROOT, test)))?.concat(" does not exist");
}

test.each(Object.entries(LISTS))("every mutant of lists/%s.ts can be applied", (_, mutants) => {
  const problems = mutants.flatMap((mutant) => {
    const problem = problemOf(mutant);
    return problem === undefined ? [] : [`${mutant.id}: ${problem}`];
  });
  expect(problems).toEqual([]);
});

test("each mutant has a unique id, and a reason that is a sentence", () => {
  expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length);
  expect(MUTANTS.filter(({ reason }) => !/^[A-Z0-9h].{20,}\.$/.test(reason)).map(({ id }) => id)).toEqual([]);
});

test("every room of src has mutants", () => {
  // The reference server is left out: it consists of examples, which have their own tests.
  const rooms = readdirSync(join(ROOT, "src")).filter((room) => room !== "reference");
  expect(rooms.filter((room) => !MUTANTS.some(({ file }) => file.startsWith(`src/${room}/`)))).toEqual([]);
});
