import { expect, test } from "vitest";
import { fuzz } from "./run.ts";

test("no input yields a 5xx, a slow answer, an internal detail, an invalid message or lasting memory", async () => {
  const seed = Number(process.env.FUZZ_SEED ?? 20_261_121);
  const { count, checked, statuses, findings } = await fuzz({ seed, count: 4_000, connections: 16, checkEvery: 10 });
  expect({ seed, findings }).toEqual({ seed, findings: [] });
  expect(count).toBe(4_000);
  expect(checked).toBeGreaterThan(300);
  // A run whose inputs are all refused would prove nothing.
  expect(statuses.get(200)).toBeGreaterThan(500);
  expect(statuses.get(202)).toBeGreaterThan(20);
}, 180_000);
