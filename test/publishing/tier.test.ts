/** How the tier is computed. `npm run tier` runs the suite itself. */
import { expect, test } from "vitest";
import { extrasOf, type Outcome, scoresOf } from "../../scripts/tier/assess.ts";
import {
  type ListedScenario,
  parseList,
  parseRequirements,
  type RequirementSet,
} from "../../scripts/tier/requirements.ts";
import { writeReport } from "../../scripts/tier/write.ts";

const SET: RequirementSet = {
  version: "2026-07-28",
  server: ["tools-list", "caching"],
  client: ["tools_call"],
  notScored: [{ scenario: "tasks-lifecycle", leg: "server", reason: "extension" }],
};
const LISTED: ListedScenario[] = [
  { leg: "server", name: "tools-list", versions: ["2025-03-26", "2026-07-28"] },
  { leg: "server", name: "caching", versions: ["2026-07-28"] },
  { leg: "server", name: "tasks-lifecycle", versions: ["extension"] },
  { leg: "server", name: "late", versions: ["2026-07-28"] },
  { leg: "client", name: "tools_call", versions: ["2026-07-28"] },
  { leg: "client", name: "skills", versions: ["extension"] },
];
const outcome = (name: string, change: Partial<Outcome> = {}): Outcome => ({
  leg: "server",
  runtime: "workerd",
  version: "2026-07-28",
  name,
  isClean: true,
  checks: "2/0/0",
  ...change,
});

test("a required scenario counts if it is clean, and not if it fails or has not been run", () => {
  const outcomes = [outcome("tools-list"), outcome("caching", { isClean: false, checks: "1/1/0" })];
  const scores = scoresOf([SET], outcomes);
  expect(scores).toContainEqual({
    version: "2026-07-28",
    leg: "server",
    runtime: "workerd",
    required: 2,
    missing: ["caching (1/1/0)"],
  });
  expect(scores).toContainEqual(
    expect.objectContaining({ leg: "server", runtime: "Node", missing: ["tools-list (not run)", "caching (not run)"] }),
  );
  expect(scores).toContainEqual(
    expect.objectContaining({ leg: "client", required: 1, missing: ["tools_call (not run)"] }),
  );
});

test("a result of another version or another leg does not count", () => {
  const outcomes = [outcome("tools-list", { version: "2025-11-25" }), outcome("caching", { leg: "client" })];
  expect(scoresOf([SET], outcomes)[0]?.missing).toHaveLength(2);
});

test("every scenario that is not required is listed, with the reason and the result on each runtime", () => {
  const outcomes = [
    outcome("tasks-lifecycle"),
    outcome("skills", { leg: "client", runtime: "Node", version: "2025-11-25", isClean: false, checks: "0/1/0" }),
  ];
  expect(extrasOf([SET], LISTED, outcomes)).toEqual([
    expect.objectContaining({ name: "tools-list", version: "2025-03-26", reason: "an older version" }),
    expect.objectContaining({
      name: "tasks-lifecycle",
      reason: "extension",
      results: { workerd: "clean 2/0/0", Node: "not run" },
    }),
    expect.objectContaining({ name: "late", reason: "in no requirement file" }),
    expect.objectContaining({
      name: "skills",
      reason: "extension, in no requirement file",
      results: { workerd: "not run", Node: "not clean 0/1/0" },
    }),
  ]);
});

test("reads a requirement file, with its hash", () => {
  const text = "server:\n  - a\nclient:\n  - b\nnot_scored:\n  - scenario: c\n    leg: server\n    reason: pending\n";
  expect(parseRequirements("2026-07-28", text)).toEqual({
    version: "2026-07-28",
    server: ["a"],
    client: ["b"],
    notScored: [{ scenario: "c", leg: "server", reason: "pending" }],
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

test.each([
  "server: []\nclient: [a]\nnot_scored: []\n",
  "required: [a]\n",
  "server: [1]\nclient: [a]\nnot_scored: []\n",
])("refuses a requirement file of another form: %j", (text) => {
  expect(() => parseRequirements("2026-07-28", text)).toThrow("another form than expected");
});

test("reads the suite's list, without the scenarios for authorization servers", () => {
  const output = `Server scenarios (test against a server):
  - tools-list [2025-11-25,2026-07-28]

Client scenarios (test against a client):
  - auth/dpop [extension]

Authorization server scenarios (test against an authorization server):
  - grant [2026-07-28]
`;
  expect(parseList(output)).toEqual([
    { leg: "server", name: "tools-list", versions: ["2025-11-25", "2026-07-28"] },
    { leg: "client", name: "auth/dpop", versions: ["extension"] },
  ]);
  expect(() => parseList("nothing")).toThrow("lists no scenarios");
});

test("the report says that conditions are missing, and which scenarios are not clean", () => {
  const scores = scoresOf([SET], [outcome("tools-list")]);
  const conditions = [{ text: "a stable release", isMet: false, shownBy: "not yet" }];
  const report = writeReport({ date: "2026-12-01", scores, extras: [], conditions, versions: { Node: "v24" } });
  expect(report).toContain("**not all conditions of tier 1 are met yet**");
  expect(report).toContain("| 2026-07-28 | server | 1 of 2 | 0 of 2 |");
  expect(report).toContain("| caching | not run | server | 2026-07-28 | workerd |");
  const met = { date: "2026-12-01", scores: [], extras: [], conditions: [], versions: {} };
  expect(writeReport(met)).toContain("**all conditions of tier 1 are met**");
});
