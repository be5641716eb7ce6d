import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROGRAMS } from "../../scripts/size-of.ts";

const DECISION = join(import.meta.dirname, "../../docs/decisions/014-size-and-speed.md");

test("the decision about size contains the budget of each program", () => {
  const rows = readFileSync(DECISION, "utf8").matchAll(/^\| ([^|`]+) \| [\d.]+ \| ([\d.]+) \|$/gm);
  const budgets = Object.fromEntries([...rows].map(([, name, kib]) => [name, Number(kib)]));
  expect(budgets).toEqual(Object.fromEntries(PROGRAMS.map(({ name, gzipKibMax }) => [name, gzipKibMax])));
});
