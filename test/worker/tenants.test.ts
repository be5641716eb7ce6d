import { expect, test } from "vitest";
import { runTenants } from "./tenants.ts";

test("no answer, progress, question or kept outcome of 60 interleaved sessions reaches another principal", async () => {
  const { answers, foreign, evictions, findings } = await runTenants({
    principals: 20,
    sessions: 60,
    seed: 20_261_122,
  });
  expect(findings).toEqual([]);
  expect(answers).toBe(240);
  expect(foreign).toBeGreaterThan(20);
  expect(evictions).toBeGreaterThan(3);
}, 120_000);
