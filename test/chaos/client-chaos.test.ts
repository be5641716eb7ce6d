// @module-tag long
/** A small part of `npm run long -- chaos --client`: the rules hold whatever happens to connections, objects and the process. */
import { expect, test } from "vitest";
import { runClientSeeds } from "./client-run.ts";
import { Tally } from "./tally.ts";

test("every call of our client runs exactly once or ends in a clear error, and the client remains usable", async () => {
  const tally = new Tally();
  const lines: string[] = [];
  await runClientSeeds({ first: 1, count: 12, worlds: 3, report: (text) => lines.push(text) }, tally);
  expect(tally.violations, lines.join("\n")).toEqual([]);
  expect(tally.of("seeds")).toBe(12);
  expect(tally.of("kills")).toBeGreaterThan(0);
  expect(tally.of("cuts")).toBeGreaterThan(0);
  expect(tally.of("results")).toBeGreaterThan(20);
}, 120_000);
