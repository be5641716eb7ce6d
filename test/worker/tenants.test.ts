// @module-tag long
import { expect, test } from "vitest";
import { runTenants } from "./tenants.ts";

test("no result, progress, question, task, stored event or cached result of 60 interleaved sessions reaches another principal", async () => {
  const { compared, foreign, rows, evictions, unanswered, findings } = await runTenants({
    principals: 20,
    sessions: 60,
    seed: 20_261_122,
  });
  expect({ findings, unanswered }).toEqual({ findings: [], unanswered: [] });
  // Each session compares 11 texts of its own, and each attempt with something of another principal is refused.
  expect(compared).toBe(60 * 11 + foreign);
  expect(foreign).toBeGreaterThan(20);
  expect(rows).toBeGreaterThan(10);
  expect(evictions).toBeGreaterThan(3);
}, 180_000);
