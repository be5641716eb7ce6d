// @module-tag long
/** The client scenarios of the official suite, of which `npm run conformance:client` prints a table. */
import { beforeAll, describe, expect, test } from "vitest";
import {
  areClean,
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
import clientWorker from "./fixtures/client-worker.ts";

describe.each(RUNTIMES)("our client on %s", (runtime) => {
  let results: readonly ClientScenario[];
  beforeAll(async () => {
    results = await runClientSuite(runtime);
  }, 600_000);

  test.each(EVERY_CLIENT_SCENARIO)("passes %s %s without failures and warnings", (version, name) => {
    const found = results.find((result) => result.version === version && result.name === name);
    expect(found && isCleanRun(found), found?.output).toBe(true);
  });
});

test("a scenario that the suite does not have does not count as passed", async () => {
  expect((await run("2025-11-25", "no-such-scenario", "http://127.0.0.1:1")).isAccepted).toBe(false);
});

test("a scenario that the client does not implement fails", async () => {
  await expect(runScenario("no-such-scenario", "http://127.0.0.1:1/mcp", {})).rejects.toThrow("unknown scenario");
});

/** Runs a group of scenarios. The client does its part, but the program that the suite started is told this status in any case. */
async function runAnswered(status: number): Promise<readonly ClientScenario[]> {
  const answering = async (request: Request) => {
    await clientWorker.fetch(request);
    return new Response("The answer was replaced.", { status });
  };
  const client = await startNodeServer({ "/": answering }, undefined);
  try {
    const results = await runGroup("2026-07-28", "draft", client.origin);
    // The suite itself finds nothing wrong.
    expect(results.filter(({ checks }) => areClean(checks)).length).toBeGreaterThan(10);
    return results;
  } finally {
    await client.stop();
  }
}

test("a scenario of a group is not clean if its client failed, except where it must refuse the server", async () => {
  const clean = (await runAnswered(500)).filter(isCleanRun).map(({ name }) => name);
  expect(clean.filter((name) => !/^auth\/(iss-|metadata-issuer-mismatch|resource-mismatch)/.test(name))).toEqual([]);
  expect(clean).not.toContain("auth/iss-supported");
});

test("a scenario of a group is not clean if its client finished, although it must refuse the server", async () => {
  const results = await runAnswered(200);
  const clean = results.filter(isCleanRun).map(({ name }) => name);
  expect(clean).toContain("auth/iss-supported");
  expect(clean).not.toContain("auth/iss-wrong-issuer");
  // The suite accepts this client, because it sent nothing that was wrong.
  expect(results.find(({ name }) => name === "auth/iss-wrong-issuer")?.isAccepted).toBe(true);
});

test("a scenario of a group is neither accepted nor clean if its client was cut off", async () => {
  const results = await runGroup("2026-07-28", "draft", "http://127.0.0.1:1");
  expect(results.length).toBeGreaterThan(10);
  expect(results.find(({ name }) => name === "auth/iss-supported")?.isAccepted).toBe(false);
  expect(results.filter(({ end }) => end !== undefined)).toEqual([]);
  expect(results.filter(isCleanRun)).toEqual([]);
});
