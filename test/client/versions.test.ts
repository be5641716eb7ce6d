import { expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { toUnsupportedError } from "../../src/client/requests/refused-requests.ts";
import { SPOKEN_VERSIONS } from "../../src/core/protocol/spoken-versions.ts";
import { VERSIONS } from "../../src/core/protocol/versions.ts";

test("the client has every version that the server has, newest first", () => {
  expect(SPOKEN_VERSIONS.map(({ version }) => version)).toEqual(VERSIONS.map(({ version }) => version).toReversed());
});

test.each([
  [[], "protocolVersions is empty"],
  [["2026-07-29"], 'protocolVersions has the unknown version "2026-07-29"'],
  // Written in JavaScript, where nothing else reports it.
  ["2025-11-25" as unknown as string[], "protocolVersions is not a list"],
])("the versions %j are refused with a list of valid versions", async (protocolVersions, text) => {
  const connecting = connect("http://127.0.0.1", { name: "versions", version: "1.0.0", protocolVersions });
  await expect(connecting).rejects.toThrow(`${text}. Use 2026-07-28, 2025-11-25, `);
  await expect(connecting).rejects.toMatchObject({ code: "options-invalid" });
});

test.each(SPOKEN_VERSIONS)("the error for each request that $version lacks says what to use instead", (rules) => {
  expect(rules.lacks).not.toEqual([]);
  for (const method of rules.lacks) {
    const { message } = toUnsupportedError(method, rules.version, {});
    expect(message).toMatch(/ does not exist in [\d-]+: [a-z]+/);
    expect(message).not.toContain("undefined");
  }
});
