import { expect, test } from "vitest";
import { SPOKEN_VERSIONS, speakVersions } from "../../src/core/protocol/spoken-versions.ts";
import { VERSIONS } from "../../src/core/protocol/versions.ts";

test("the client has every version that the server has, newest first", () => {
  expect(SPOKEN_VERSIONS.map(({ version }) => version)).toEqual(VERSIONS.map(({ version }) => version).toReversed());
});

test.each([
  [[], "protocolVersions is empty"],
  [["2026-07-29"], 'protocolVersions has the unknown version "2026-07-29"'],
])("the versions %j are refused with a list of valid versions", (names, text) => {
  expect(() => speakVersions(names)).toThrow(text);
  expect(() => speakVersions(names)).toThrow("2026-07-28, 2025-11-25");
});
