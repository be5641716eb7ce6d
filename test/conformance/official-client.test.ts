// @module-tag long
/** The client scenarios of the official suite, of which `npm run conformance:client` prints a table. */
import { beforeAll, describe, expect, test } from "vitest";
import {
  type ClientScenario,
  EVERY_CLIENT_SCENARIO,
  isCleanRun,
  RUNTIMES,
  run,
  runClientSuite,
  runGroup,
} from "../../scripts/official-client-suite.ts";
import { startNodeServer } from "../http/node-server.ts";
import { runScenario } from "./client-scenarios.ts";

describe.each(RUNTIMES)("our client on %s", (runtime) => {
  let results: readonly ClientScenario[];
  beforeAll(async () => {
    results = await runClientSuite(runtime);
  }, 600_000);

  test.each(EVERY_CLIENT_SCENARIO)("passes %s %s without failures and warnings, and exits with 0", (version, name) => {
    const found = results.find((result) => result.version === version && result.name === name);
    expect(found && isCleanRun(found), found?.output).toBe(true);
  });
});

test("a scenario that the suite does not have does not count as passed", async () => {
  expect((await run("2025-11-25", "no-such-scenario", "http://127.0.0.1:1")).exitCode).not.toBe(0);
});

test("a scenario that the client does not implement fails", async () => {
  await expect(runScenario("no-such-scenario", "http://127.0.0.1:1/mcp", {})).rejects.toThrow("unknown scenario");
});

test("no scenario of a group is clean if the client has failed in it, even if the suite expects that it refuses the server", async () => {
  const failing = await startNodeServer({ "/": async () => new Response("It is closed.", { status: 500 }) }, undefined);
  try {
    const results = await runGroup("2026-07-28", "draft", failing.origin);
    expect(results.length).toBeGreaterThan(10);
    expect(results.filter(isCleanRun)).toEqual([]);
  } finally {
    await failing.stop();
  }
});
