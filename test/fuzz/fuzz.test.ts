// @module-tag long
import { expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import { fuzzAuthorization } from "./authorization.ts";
import { fuzz } from "./run.ts";
import { fuzzTokens } from "./tokens.ts";

ignoreLogs(/^mcp-edge: /);

test("no input causes a 5xx, a slow response, an internal detail, an invalid message or lasting memory", async () => {
  const seed = Number(process.env.FUZZ_SEED ?? 20_261_121);
  const { count, checked, statuses, findings } = await fuzz({ seed, count: 4_000, connections: 16, checkEvery: 10 });
  expect({ seed, findings }).toEqual({ seed, findings: [] });
  expect(count).toBe(4_000);
  expect(checked).toBeGreaterThan(300);
  // A run whose inputs are all refused would prove nothing.
  expect(statuses.get(200)).toBeGreaterThan(500);
  expect(statuses.get(202)).toBeGreaterThan(20);
}, 180_000);

test("no token, proof, key or metadata causes a 5xx of the kit, or is accepted although it is invalid", async () => {
  const seed = Number(process.env.FUZZ_SEED ?? 20_261_122);
  const { statuses, findings } = await fuzzTokens(seed, 800);
  expect({ seed, findings }).toEqual({ seed, findings: [] });
  expect(statuses.get(200)).toBeGreaterThan(50);
  expect(statuses.get(401)).toBeGreaterThan(200);
}, 120_000);

test("no request to the authorization server causes a 5xx, a script, a redirect elsewhere, or tokens without reason", async () => {
  const seed = Number(process.env.FUZZ_SEED ?? 20_261_123);
  const { statuses, findings } = await fuzzAuthorization(seed, 3_200);
  expect({ seed, findings }).toEqual({ seed, findings: [] });
  // A run whose inputs are all refused would prove nothing.
  expect([...statuses.keys()]).toEqual(expect.arrayContaining(REACHED));
}, 120_000);

/** Routes, each with the status of a valid request. */
const REACHED = [
  "/authorize 200",
  "/authorize 303",
  "/authorize 400",
  "/authorize/callback 303",
  "/authorize/allowed 200",
  "/authorize/allowed 303",
  "/token 200",
  "/token 400",
  "/token 401",
  "/revoke 200",
  "/register 201",
  "/register 400",
];
