import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runtimeProblems } from "./runtime.ts";
import { SPEC_DIR, specOf } from "./spec.ts";

const VERSION = "2026-07-28";
const FOLDER = join(SPEC_DIR, VERSION, "examples");
const spec = specOf(VERSION);

describe("the oracle", () => {
  test("finds the specification's schemas, or reports that it uses only the official ones", () => {
    expect(spec === undefined).toBe(!existsSync(join(SPEC_DIR, VERSION, "schema.json")));
  });
});

// Created only if the folder exists, so that there is no skipped test without it.
if (spec !== undefined && existsSync(FOLDER)) {
  describe("examples of the specification", () => {
    for (const type of readdirSync(FOLDER)) {
      for (const file of readdirSync(join(FOLDER, type))) {
        test(`${type}/${file} is a ${type}`, () => {
          const value: unknown = JSON.parse(readFileSync(join(FOLDER, type, file), "utf8"));
          expect(spec.validate(`${spec.root}${type}`, value)).toEqual([]);
          expect(runtimeProblems(VERSION, type, value)).toEqual([]);
        });
      }
    }
  });
}
