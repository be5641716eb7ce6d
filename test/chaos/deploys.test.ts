// @module-tag long
/** A small part of `npm run long -- chaos-deploys`: builds that are mixed during a deploy lose nothing. */
import { expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import { bundleWorker } from "../releases/bundle.ts";
import { listReleases, readWorker } from "../releases/releases.ts";
import { runDeploys } from "./deploys.ts";
import { Tally } from "./tally.ts";

ignoreLogs(/^An RPC stub was not disposed/);
ignoreLogs(/reset because its code was updated|aborted by a test/);
ignoreLogs(/^mcp-edge: /);

test("the last release and the present code work together while objects change between them", async () => {
  const tally = new Tally();
  const lines: string[] = [];
  const builds = { old: readWorker(listReleases().at(-1) ?? ""), new: await bundleWorker() };
  await runDeploys(
    { first: 1, count: 6, builds, worlds: 1, ttlMs: 90_000, resumeMs: 40_000, report: (text) => lines.push(text) },
    tally,
  );
  expect(tally.violations, lines.join("\n")).toEqual([]);
  expect(tally.of("deploys")).toBeGreaterThan(6);
  expect(tally.of("interrupted"), "a deploy comes in the middle of a call").toBeGreaterThan(0);
}, 900_000);
