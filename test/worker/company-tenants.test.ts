// @module-tag long
import { expect, test } from "vitest";
import { expectLogs, ignoreLogs } from "../harness/logs.ts";
import { runCompanies } from "./company-tenants.ts";

ignoreLogs(/^An RPC stub was not disposed/);
// What the operator learns about the assertions that are refused.
expectLogs(
  /^mcp-edge: enterprise\(\): an assertion of "\S+" was refused: the issuer is not trusted$/,
  /^mcp-edge: enterprise\(\): an assertion of "\S+" was refused: no key of the issuer for "ES256" with the id "key"/,
);

test("no assertion of 50 companies with stored policies gives access to another company, or more than its policy", async () => {
  const result = await runCompanies({ companies: 50, exchanges: 300, seed: 20_261_127 });
  expect(result.findings).toEqual([]);
  expect(result.accepted).toBeGreaterThan(100);
  expect(result.refused).toBeGreaterThan(20);
  expect(result.ended).toBeGreaterThan(2);
  // Three attempts for each exchange, and one more for each that is accepted, apart from requests that were cut.
  expect(result.attacks + 4 * result.unanswered).toBeGreaterThanOrEqual(300 * 3 + result.accepted);
  expect(result.unanswered).toBeLessThan(10);
  // Each isolate requests the keys of each company at most once.
  expect(result.keyRequests).toBeLessThanOrEqual(100);
}, 180_000);
