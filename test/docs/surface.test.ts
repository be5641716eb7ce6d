/** The public surface changes on purpose, and every name and member of it has a doc comment. */
import { expect, test } from "vitest";
import { differencesOf, readReports, reportsOf } from "../../scripts/api/report.ts";
import { readSurface } from "../../scripts/api/surface.ts";

const entries = readSurface();

test("the public surface matches docs/reference/api", () => {
  expect(entries.length).toBeGreaterThan(10);
  expect(differencesOf(reportsOf(entries), readReports()), "npm run build && npm run api -- --write").toEqual([]);
});

test("a report names what is exported and leaves out private members", () => {
  const report = reportsOf(entries).get("index.txt") ?? "";
  expect(report).toContain("export declare class McpServer");
  expect(report).not.toMatch(/^\s+(private|#)/m);
});

test("a changed line, a new file and a removed file are each a difference", () => {
  const [a, b] = [new Map([["a.txt", "one\ntwo"]]), new Map([["a.txt", "one\n2"]])];
  expect(differencesOf(a, b)).toEqual(['docs/reference/api/a.txt:2: was "2", is "two"']);
  expect(differencesOf(a, new Map())).toHaveLength(1);
  expect(differencesOf(new Map(), a)).toHaveLength(1);
  expect(differencesOf(a, a)).toEqual([]);
});
