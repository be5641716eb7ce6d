// @module-tag long
/** The comparison of schemas, judged by two validators: a change that it calls compatible never rejects a value that was valid. */
import { Validator } from "@cfworker/json-schema";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isObject, type JsonObject } from "../../src/core/protocol/jsonrpc.ts";
import { compareSchemas } from "../../src/lock/compare-schemas.ts";

const NAME = fc.constantFrom("a", "b", "ab");
const VALUE = fc.constantFrom<unknown>(null, true, 0, 1, 2, 0.5, "", "a", "b");

const some = (model: Record<string, fc.Arbitrary<unknown>>) => fc.record(model, { requiredKeys: [] });
const { schema: SCHEMA } = fc.letrec<{ schema: unknown }>((tie) => {
  const inner = tie("schema");
  const list = fc.array(inner, { minLength: 1, maxLength: 3 });
  return {
    schema: fc.oneof(
      { maxDepth: 3, depthSize: "medium" },
      fc.constantFrom<unknown>(true, false, {}, { $ref: "#/$defs/one" }, { $ref: "#/$defs/two" }, { not: {} }),
      some({
        type: fc.constantFrom<unknown>("string", "number", "integer", "object", "array", ["string", "null"]),
        minLength: fc.nat({ max: 2 }),
        maximum: fc.nat({ max: 2 }),
        multipleOf: fc.constantFrom(0.5, 1, 2),
      }),
      some({ type: fc.constantFrom("integer", "string"), enum: fc.uniqueArray(VALUE, { minLength: 1, maxLength: 3 }) }),
      some({ const: VALUE, enum: fc.uniqueArray(VALUE, { minLength: 1, maxLength: 3 }) }),
      some({
        $ref: fc.constantFrom("#/$defs/one", "#/$defs/two"),
        type: fc.constant("object"),
        maxProperties: fc.nat({ max: 2 }),
      }),
      some({ anyOf: list, oneOf: list }),
      some({ oneOf: list }),
      some({ allOf: list, not: inner }),
      some({ items: inner, prefixItems: list, uniqueItems: fc.boolean(), unevaluatedItems: inner }),
      some({ contains: inner, minContains: fc.nat({ max: 2 }), maxContains: fc.nat({ max: 2 }) }),
      // An added property restricts members that were allowed implicitly, by convention without breaking callers.
      fc.record(
        {
          properties: fc.dictionary(NAME, inner, { maxKeys: 2 }),
          patternProperties: fc.dictionary(fc.constantFrom("^a", "b$"), inner, { maxKeys: 2 }),
          additionalProperties: fc.oneof(
            fc.constantFrom({ type: "string" }, { type: "integer" }, false),
            inner.filter((each) => isObject(each) && Object.keys(each).length > 0),
          ),
          required: fc.uniqueArray(NAME, { maxLength: 2 }),
          propertyNames: inner,
          unevaluatedProperties: inner,
          minProperties: fc.nat({ max: 1 }),
        },
        { requiredKeys: ["additionalProperties"] },
      ),
    ),
  };
});
const LEAF = fc.constantFrom<unknown>(
  { type: "string" },
  { type: ["string", "null"] },
  { type: "number" },
  { type: "object", required: ["a"], properties: { a: { const: 1 } }, additionalProperties: false },
);
const ROOT = fc
  .record({
    properties: fc.dictionary(NAME, SCHEMA, { minKeys: 1, maxKeys: 3 }),
    $defs: fc.record({ one: LEAF, two: LEAF }),
  })
  .map((root): JsonObject => ({ type: "object", additionalProperties: false, ...root }));

/** Returns all schemas in a schema that are objects. */
function nodesOf(schema: unknown): JsonObject[] {
  if (Array.isArray(schema)) return schema.flatMap(nodesOf);
  if (!isObject(schema)) return [];
  const inner = [
    "items",
    "contains",
    "not",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "anyOf",
    "oneOf",
    "allOf",
    "prefixItems",
  ];
  const maps = ["properties", "patternProperties"];
  return [
    schema,
    ...inner.flatMap((keyword) => nodesOf(schema[keyword])),
    ...maps.flatMap((keyword) => nodesOf(isObject(schema[keyword]) ? Object.values(schema[keyword]) : [])),
  ];
}

/** Returns a copy in which one schema has another keyword, or one keyword less. */
function edited(root: JsonObject, seed: number, donor: JsonObject): JsonObject {
  const copy = structuredClone(root);
  // Definitions are only exchanged: a definition that refers to itself would never end in the validator.
  if (seed % 5 === 0) return { ...copy, $defs: donor.$defs };
  const nodes = nodesOf(copy).slice(1);
  const node = nodes[seed % Math.max(1, nodes.length)];
  const donors = nodesOf(donor).slice(1);
  const other = donors[Math.floor(seed / 7) % Math.max(1, donors.length)] ?? {};
  if (!node) return copy;
  const names = Object.keys(node);
  if (seed % 3 === 0 && names.length > 0) delete node[names[seed % names.length] ?? ""];
  else if (seed % 3 === 1) Object.assign(node, other);
  else {
    const keyword = Object.keys(other)[seed % Math.max(1, Object.keys(other).length)];
    // By convention, see above, an added property is compatible although it restricts members that were allowed implicitly.
    const isByConvention = keyword === "properties" && node.additionalProperties === undefined;
    if (keyword !== undefined && !isByConvention) node[keyword] = other[keyword];
  }
  return copy;
}

/** All values of a small universe, so that every pair of schemas is judged by the same ones. */
const scalars = [null, true, 0, 1, 2, 0.5, "", "a", "b", "aaa"];
const nested = [
  ...scalars,
  [],
  ["a"],
  [1, "a"],
  [0, 0],
  {},
  { a: 1 },
  { a: "a" },
  { b: 1, ab: "a" },
  { ab: 0 },
  { c: "a" },
];
const VALUES = [
  ...["a", "b", "ab"].flatMap((name) => nested.map((value) => ({ [name]: value }))),
  ...nested.flatMap((value) => [
    { a: [value, "a", 1] },
    { a: { a: value } },
    { b: { ab: value, c: "a" } },
    { a: [[value]] },
  ]),
  {},
  { a: 1, b: "a" },
  { a: "a", b: "a", ab: "a" },
  { a: {}, b: [] },
];

/**
 * Returns a function that tells whether a value is valid, or undefined where the validators disagree: Ajv 8.20 ignores
 * `contains` for an empty array where `prefixItems` stands beside it.
 */
function judge(schema: JsonObject): (value: unknown) => boolean | undefined {
  const compiled = new Ajv2020({ strict: false, validateSchema: false }).compile(schema);
  const validator = new Validator(schema, "2020-12");
  return (value) => {
    const isValid = compiled(value);
    return isValid === validator.validate(value).valid ? isValid : undefined;
  };
}

test("a change whose parts are all compatible keeps valid arguments valid, and results within the old schema", {
  timeout: 300_000,
}, () => {
  let judged = 0;
  fc.assert(
    fc.property(ROOT, ROOT, fc.nat(), (before, donor, seed) => {
      const after = edited(before, seed, donor);
      const verdicts = (["input", "output"] as const).map((direction) =>
        compareSchemas(before, after, direction).every(({ severity }) => severity === "compatible"),
      );
      if (!verdicts.includes(true)) return;
      judged += 1;
      const [isOld, isNew] = [judge(before), judge(after)];
      for (const value of VALUES) {
        const facts = [isOld(value), isNew(value)];
        if (verdicts[0])
          expect({ value, facts, direction: "input" }).not.toEqual({ value, facts: [true, false], direction: "input" });
        if (verdicts[1])
          expect({ value, facts, direction: "output" }).not.toEqual({
            value,
            facts: [false, true],
            direction: "output",
          });
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 1_000) },
  );
  expect(judged).toBeGreaterThan(50);
});
