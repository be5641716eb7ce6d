import { expect, test } from "vitest";
import { findUnusedNaming, findVersionNames, NAMING } from "../../scripts/version-names.ts";

test.each([
  'if (version === "2026-07-28") return;',
  "const legacy = '2025-11-25';",
  'const why = "Use protocol version 2026-07-28, which has no sessions.";',
  'until: "2024-11-05", // the oldest version',
])("reports the code %s", (line) => {
  expect(findVersionNames("src/core/a.ts", `\n${line}`)).toEqual([
    expect.stringMatching(/^src\/core\/a\.ts:2: read a property /),
  ]);
});

test.each([
  "/** @see MCP 2026-07-28, basic */",
  " * Sent since 2025-06-18.",
  "// removed in 2025-06-18",
  "const batch = true; // since 2025-03-26",
  'const log = "2026-07-28T10:00:00Z started";',
  'const since = "2026-01-31";',
])("does not report %s", (line) => {
  expect(findVersionNames("src/core/a.ts", line)).toEqual([]);
});

test("does not report the listed files, which must name a version", () => {
  const [file = ""] = Object.keys(NAMING);
  expect(findVersionNames(file, 'version: "2026-07-28"')).toEqual([]);
  expect(findUnusedNaming((each) => (each === file ? "" : "2026-07-28"))).toEqual([
    `scripts/version-names.ts: ${file} names no version`,
  ]);
});
