// @module-tag long
import { beforeAll, describe, expect, test } from "vitest";
import {
  isClean,
  REQUIREMENTS,
  type Requirements,
  runOfficialSuite,
  type Scenario,
} from "../../scripts/official-suite.ts";
import { expectLogs } from "../harness/logs.ts";

expectLogs(/"test_elicitation_sep1330_enums" failed .* QuestionError: The client's answer/);

const results = new Map<Requirements, readonly Scenario[]>();

beforeAll(async () => {
  await runOfficialSuite((requirements, scenarios) => results.set(requirements, scenarios));
}, 120_000);

/** The number of scenarios that each requirement set has for servers, fixed with the suite's version. */
const REQUIRED = { "2025-03-26": 1, "2025-06-18": 27, "2025-11-25": 30, "2026-07-28": 37 } as const;

describe.each(Object.keys(REQUIREMENTS) as Requirements[])("the official suite's scenarios of %s", (requirements) => {
  test("pass without failures and warnings if they are required", () => {
    const required = (results.get(requirements) ?? []).filter(({ isRequired }) => isRequired);
    expect(required).toHaveLength(REQUIRED[requirements]);
    expect(required.filter((scenario) => !isClean(scenario))).toEqual([]);
  });

  test("pass if they are not scored, except the tasks scenario that skips its only check", () => {
    const further = (results.get(requirements) ?? []).filter(({ isRequired, isOurs }) => isOurs && !isRequired);
    expect(further.map(({ name }) => name).toSorted()).toEqual(REQUIREMENTS[requirements].toSorted());
    expect(further.filter((scenario) => !isClean(scenario))).toEqual([]);
  });

  test("skip none of their checks", () => {
    const ours = (results.get(requirements) ?? []).filter(({ isOurs }) => isOurs);
    const skipped = ours.flatMap(({ name, checks }) =>
      checks.filter(({ status }) => status === "SKIPPED").map(({ id }) => `${name}: ${id}`),
    );
    expect(skipped).toEqual([]);
  });
});
