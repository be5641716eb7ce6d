// @module-tag long
/** A small part of `npm run long -- chaos-deploys`: builds that are mixed during a deploy lose nothing. */
import { expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import { bundleWorker } from "../releases/bundle.ts";
import { listReleases, readWorker } from "../releases/releases.ts";
import { CARELESS_MESSAGE, runDeploys } from "./deploys.ts";
import { Tally } from "./tally.ts";

ignoreLogs(/^An RPC stub was not disposed/);
ignoreLogs(/reset because its code was updated|aborted by a test/);
ignoreLogs(/^mcp-edge: /);

const times = { worlds: 1, ttlMs: 90_000, resumeMs: 40_000 };

test("the last release and the present code work together while objects change between them", async () => {
  const tally = new Tally();
  const lines: string[] = [];
  const builds = { old: readWorker(listReleases().at(-1) ?? ""), new: await bundleWorker() };
  await runDeploys({ first: 1, count: 6, builds, ...times, report: (text) => lines.push(text) }, tally);
  expect(tally.violations, lines.join("\n")).toEqual([]);
  expect(tally.of("deploys")).toBeGreaterThan(6);
  expect(tally.of("interrupted"), "a deploy comes in the middle of a call").toBeGreaterThan(0);
}, 400_000);

test("a message that changes without care is noticed", async () => {
  const tally = new Tally();
  const builds = { old: await bundleWorker(), new: await bundleWorker({ changes: [CARELESS_MESSAGE] }) };
  await runDeploys({ first: 1, count: 4, builds, ...times, report: () => undefined }, tally);
  expect(tally.violations.length).toBeGreaterThan(0);
}, 400_000);
