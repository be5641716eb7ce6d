// @module-tag long
/** A short soak of a server that leaks on purpose. That of the server as it is takes long: npm run long -- soak. */
import { expect, test } from "vitest";
import { soak } from "../../scripts/soak/run.ts";

const SHORT = { forMs: 12_000, warmUpMs: 8_000, atOnce: 20, seed: 14 };

test("a server that leaks memory, rows and alarms is noticed", { timeout: 240_000 }, async () => {
  const { findings } = await soak({ ...SHORT, leak: ["memory", "rows", "alarms"] });
  expect(findings.join("\n")).toMatch(/memory grew by [\d.]+ MiB/);
  expect(findings.join("\n")).toMatch(/\d+ rows were not deleted/);
  expect(findings.join("\n")).toMatch(/\d+ alarms are set/);
});
