import { describe, expect, test } from "vitest";
import { METHODS } from "./methods.ts";
import { EXCEPTIONS, hasRuntime, runtimeProblems, strictRuntimeProblems } from "./runtime.ts";
import { specOf } from "./spec.ts";

const URL_ELICITATION = {
  method: "elicitation/create",
  params: { mode: "url", message: "m", url: "https://example.com" },
};

/** One value per exception that requires it. */
const NEEDED: readonly unknown[] = [URL_ELICITATION.params, URL_ELICITATION];

describe("exceptions from the official schemas", () => {
  for (const [index, { version, definition, why }] of EXCEPTIONS.entries()) {
    test(`${definition} in ${version}: ${why}`, () => {
      const value = NEEDED[index];
      expect(strictRuntimeProblems(version, definition, value)).not.toEqual([]);
      expect(runtimeProblems(version, definition, value)).toEqual([]);
      const spec = specOf(version);
      expect(spec?.validate(`${spec.root}${definition}`, value) ?? []).toEqual([]);
    });
  }

  test("do not hide other errors", () => {
    const wrong = { ...URL_ELICITATION, params: { ...URL_ELICITATION.params, url: 1 } };
    expect(runtimeProblems("2026-07-28", "ElicitRequest", wrong)).not.toEqual([]);
  });
});

test("the official packages check every method of their version", () => {
  const missing = METHODS.filter((row) => !row.extension).flatMap((row) =>
    row.versions.flatMap((version) =>
      [row.message, row.result ?? row.message]
        .filter((name) => !hasRuntime(version, name))
        .map((name) => `${version} ${name}`),
    ),
  );
  expect(missing).toEqual([]);
});

for (const version of ["2025-06-18", "2025-11-25", "2026-07-28"]) {
  const spec = specOf(version);
  if (spec === undefined) continue;
  test(`numbers in forms can have fractions in ${version}`, () => {
    const field = { type: "number", minimum: 0.5, maximum: 1.5, ...(version === "2025-06-18" ? {} : { default: 0.7 }) };
    expect(spec.validate(`${spec.root}NumberSchema`, field)).toEqual([]);
    expect(spec.validate(`${spec.root}ElicitResult`, { action: "accept", content: { a: 0.5 } })).toEqual([]);
  });
}
