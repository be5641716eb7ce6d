// @module-tag long
/** Short soaks: one of the server as it is, and one of a server that leaks on purpose. */
import { expect, test } from "vitest";
import { soak } from "../../scripts/soak/run.ts";

const SHORT = { forMs: 12_000, warmUpMs: 8_000, atOnce: 20, seed: 14 };

test("after hundreds of clients have left or failed, memory, descriptors, rows and alarms return to their initial values", {
  timeout: 240_000,
}, async () => {
  const found = await soak(SHORT);
  expect(found.findings).toEqual([]);
  expect(found.left).toMatchObject({ rows: 0, alarms: 0 });
  expect(found.clients.size).toBe(14);
});

test("a server that leaks memory, rows and alarms is reported", { timeout: 240_000 }, async () => {
  const { findings } = await soak({ ...SHORT, leak: ["memory", "rows", "alarms"] });
  expect(findings.join("\n")).toMatch(/memory grew by [\d.]+ MiB/);
  expect(findings.join("\n")).toMatch(/\d+ rows were not deleted/);
  expect(findings.join("\n")).toMatch(/\d+ alarms are set/);
});
