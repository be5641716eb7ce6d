/** Each test that SECURITY.md names for a threat exists, with the title that it gives. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/tools.ts";

const text = readFileSync(join(ROOT, "SECURITY.md"), "utf8");
const rows = text.split("\n").filter((line) => line.startsWith("| **"));

test("each threat in SECURITY.md names a test", () => {
  expect(rows.length).toBeGreaterThan(15);
  const without = rows.filter((row) => !/`(test\/|npm run )/.test(row)).map((row) => /\*\*(.+?)\*\*/.exec(row)?.[1]);
  expect(without).toEqual([]);
});

const named = rows.flatMap((row) =>
  [...row.matchAll(/`(test\/[^`]+)`(?:: ([^|;`]+))?/g)].flatMap(([, file = "", titles]) =>
    (titles ?? "").split(",").map((title) => [file, title.trim()] as const),
  ),
);

test.each(named)("%s exists and has a test of %j (%#)", (file, title) => {
  expect(existsSync(join(ROOT, file))).toBe(true);
  // Not compared as strings, since a failure would print the whole file.
  expect(readFileSync(join(ROOT, file), "utf8").includes(title)).toBe(true);
});
