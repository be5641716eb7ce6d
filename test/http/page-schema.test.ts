/** How the page describes the arguments of a tool. */
import { expect, test } from "vitest";
import { members, typeText } from "../../src/http/page/schema-text.ts";

test.each([
  [{ type: "string" }, "string"],
  [{ type: ["string", "null"] }, "string | null"],
  [{ type: "array", items: { type: "integer" } }, "integer[]"],
  [{ type: "array", items: { enum: ["a", "b"] } }, '("a" | "b")[]'],
  [{ type: "array" }, "any[]"],
  [{ enum: ["a", 1, null] }, '"a" | 1 | null'],
  [{ const: "a" }, '"a"'],
  [{ oneOf: [{ const: "a", title: "A" }, { const: "b" }] }, '"a" | "b"'],
  [{ anyOf: [{ type: "string" }, { type: "number" }] }, "string | number"],
  [{ enum: [..."abcdefghijkl"] }, '"a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | …'],
  [{}, "any"],
  [true, "any"],
  [undefined, "any"],
])("%j is described as %s", (schema, text) => {
  expect(typeText(schema)).toBe(text);
});

test("the members of an object are listed with their descriptions, or else their titles", () => {
  const properties = { a: { type: "string", description: "The a", title: "A" }, b: { title: "B" }, c: true };
  expect(members({ type: "object", properties, required: ["b"] })).toEqual([
    { name: "a", type: "string", isRequired: false, description: "The a" },
    { name: "b", type: "any", isRequired: true, description: "B" },
    { name: "c", type: "any", isRequired: false, description: undefined },
  ]);
  expect(members({ type: "object" })).toEqual([]);
});
