/** The list of client scenarios is complete: a scenario that is not run would look like a scenario that passes. */
import { expect, test } from "vitest";
import { CLIENT_SCENARIOS, missingClientScenarios } from "../../scripts/official-client-suite.ts";

test("every client scenario of the official suite is run, except those that need authorization", {
  tags: "long",
}, async () => {
  const missing = await missingClientScenarios();
  expect(missing.filter(({ name }) => !name.startsWith("auth/"))).toEqual([]);
});

test("no scenario is listed twice for a version", () => {
  for (const names of Object.values<readonly string[]>(CLIENT_SCENARIOS))
    expect(new Set(names).size).toBe(names.length);
});
