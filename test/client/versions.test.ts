import { expect, test } from "vitest";
import { SPOKEN_VERSIONS, speakVersions } from "../../src/core/protocol/spoken-versions.ts";
import { VERSIONS } from "../../src/core/protocol/versions.ts";

test("the client's versions are those of the table, newest first, with the same rules", () => {
  expect(SPOKEN_VERSIONS.map(({ version }) => version)).toEqual(VERSIONS.map(({ version }) => version).toReversed());
  for (const spoken of SPOKEN_VERSIONS) {
    const rules = VERSIONS.find(({ version }) => version === spoken.version);
    expect(rules).toMatchObject({
      ...spoken,
      implementationFields: expect.arrayContaining([...spoken.implementationFields]),
    });
    expect(spoken.implementationFields).toHaveLength(rules?.implementationFields.length ?? 0);
  }
});

test.each([
  [[], "protocolVersions is empty"],
  [["2026-07-29"], 'protocolVersions has the unknown version "2026-07-29"'],
])("the versions %j are refused with the valid ones", (names, text) => {
  expect(() => speakVersions(names)).toThrow(text);
  expect(() => speakVersions(names)).toThrow("2026-07-28, 2025-11-25");
});
