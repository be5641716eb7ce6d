// @module-tag long
/** A small part of `npm run long -- chaos`: the rules hold whatever happens to connections, objects and the process. */
import { expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import { runSeeds } from "./seeds.ts";
import { Tally } from "./tally.ts";

ignoreLogs(/^An RPC stub was not disposed/);
ignoreLogs(/aborted by a test/);
ignoreLogs(/^mcp-edge: "\(/);

test("every event is received once and in order, every call ends, and nothing stays stored", async () => {
  const tally = new Tally();
  const lines: string[] = [];
  const report = (text: string) => lines.push(text);
  const options = { first: 1, count: 16, released: 4, worlds: 2, ttlMs: 14_000, resumeMs: 6_000, report };
  await runSeeds(options, tally);
  expect(tally.violations, lines.join("\n")).toEqual([]);
  expect([tally.of("seeds"), tally.of("released")]).toEqual([16, 4]);
  expect(tally.of("kills")).toBeGreaterThan(0);
  expect(tally.of("shared")).toBeGreaterThan(0);
  expect(tally.of("readers")).toBeGreaterThan(0);
  expect(tally.of("events")).toBeGreaterThan(100);
}, 300_000);
