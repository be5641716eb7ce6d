import { describe, expect, test } from "vitest";
import { REGISTRY } from "../../src/core/define/server.ts";
import { KitError, McpServer } from "../../src/core/index.ts";
import { compileSchema } from "../../src/core/protocol/schema.ts";
import { jsonSchema } from "../../src/schema/index.ts";

type Schema = Record<string, unknown>;

/** The outcome of validating one value: the handler's argument, or the issues with their paths. */
async function check(schema: Schema, value: unknown) {
  const outcome = await jsonSchema(schema)["~standard"].validate(value);
  if (!outcome.issues) return { value: outcome.value };
  return { paths: outcome.issues.map(({ path = [] }) => path.map(String).join("/")), issues: outcome.issues };
}

async function accepts(schema: Schema, value: unknown): Promise<boolean> {
  return !("issues" in (await check(schema, value)));
}

const D2020 = "https://json-schema.org/draft/2020-12/schema";

describe("the listed schema", () => {
  test("has every keyword, known or not, in the author's order", () => {
    const schema = {
      $schema: D2020,
      $id: "https://example.com/order",
      $comment: "kept",
      title: "Order",
      description: "An order",
      type: "object",
      properties: {
        item: { type: "string", description: "What", examples: ["tea"], pattern: "^[a-z]+$", "x-own": { a: [1] } },
        count: { type: "integer", minimum: 1, exclusiveMaximum: 10, multipleOf: 1, default: 1 },
        tags: { type: "array", uniqueItems: true, prefixItems: [{ type: "string" }], contains: { const: "a" } },
        when: { type: "string", format: "date-time", contentMediaType: "text/plain", deprecated: true, readOnly: true },
      },
      patternProperties: { "^x-": { type: "string" } },
      dependentRequired: { count: ["item"] },
      dependentSchemas: { tags: { required: ["item"] } },
      propertyNames: { maxLength: 10 },
      unevaluatedProperties: false,
      $defs: { name: { $anchor: "name", type: "string" } },
      if: { required: ["count"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { required: ["item"] },
      else: { minProperties: 0 },
      allOf: [{ minProperties: 0 }],
      anyOf: [{ type: "object" }],
      oneOf: [{ type: "object" }],
      not: { required: ["never"] },
      required: ["item"],
      additionalProperties: { type: "string" },
    };
    const before = JSON.stringify(schema);
    const wrapped = jsonSchema(schema);
    for (const direction of ["input", "output"] as const) {
      const { json } = compileSchema("input", wrapped, direction);
      expect(JSON.stringify(json)).toBe(before);
    }
    expect(JSON.stringify(schema)).toBe(before);
  });
});

describe("the dialect 2020-12", () => {
  test.each<[string, Schema, unknown[], unknown[]]>([
    [
      "$defs and $ref",
      { type: "object", properties: { a: { $ref: "#/$defs/id" } }, $defs: { id: { type: "string", minLength: 2 } } },
      [{ a: "ab" }, {}],
      [{ a: "a" }, { a: 1 }],
    ],
    [
      "$anchor",
      { type: "object", properties: { a: { $ref: "#id" } }, $defs: { any: { $anchor: "id", type: "integer" } } },
      [{ a: 1 }],
      [{ a: "1" }],
    ],
    [
      "a recursive $ref",
      {
        $ref: "#/$defs/node",
        $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, required: ["v"] } },
      },
      [{ v: 1, next: { v: 2, next: { v: 3 } } }],
      [{ v: 1, next: { v: 2, next: {} } }],
    ],
    [
      "if, then, else",
      {
        type: "object",
        if: { properties: { kind: { const: "card" } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
        then: { required: ["number"] },
        else: { required: ["iban"] },
      },
      [
        { kind: "card", number: "1" },
        { kind: "bank", iban: "D" },
      ],
      [{ kind: "card", iban: "D" }, { kind: "bank" }],
    ],
    [
      "allOf",
      { allOf: [{ type: "object", required: ["a"] }, { properties: { a: { type: "number", minimum: 3 } } }] },
      [{ a: 3 }],
      [{ a: 2 }, {}],
    ],
    ["anyOf", { anyOf: [{ type: "string" }, { type: "array", maxItems: 1 }] }, ["a", [1]], [1, [1, 2]]],
    ["oneOf", { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, [2, 3], [6, 1]],
    ["not", { not: { type: "string" } }, [1], ["a"]],
    ["prefixItems", { prefixItems: [{ type: "string" }], items: { type: "number" } }, [["a", 1]], [["a", "b"], [1]]],
    ["contains", { contains: { const: 1 }, minContains: 2, maxContains: 2 }, [[1, 1, 0]], [[1], [1, 1, 1]]],
    ["dependentRequired", { dependentRequired: { a: ["b"] } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
    [
      "unevaluatedProperties",
      { allOf: [{ properties: { a: true } }], properties: { b: true }, unevaluatedProperties: false },
      [{ a: 1, b: 1 }],
      [{ c: 1 }],
    ],
    ["propertyNames", { propertyNames: { pattern: "^[a-z]+$" } }, [{ a: 1 }], [{ A: 1 }]],
    [
      "const and enum",
      { properties: { a: { const: null }, b: { enum: [1, "1"] } } },
      [{ a: null, b: "1" }],
      [{ a: 0 }, { b: 2 }],
    ],
    ["format", { type: "string", format: "email" }, ["a@b.example"], ["no"]],
  ])("supports %s", async (_, schema, good, bad) => {
    for (const value of good) expect([value, await accepts(schema, value)]).toEqual([value, true]);
    for (const value of bad) expect([value, await accepts(schema, value)]).toEqual([value, false]);
  });

  test("supports boolean subschemas, which allow everything or nothing", async () => {
    expect(await accepts({ properties: { a: true } }, { a: 1 })).toBe(true);
    expect(await accepts({ properties: { a: false } }, { a: 1 })).toBe(false);
  });
});

describe("defaults", () => {
  test("fill in absent properties at every level, but not present ones, including false and null", async () => {
    const schema = {
      type: "object",
      properties: {
        units: { type: "string", default: "metric" },
        loud: { type: "boolean", default: true },
        none: { default: 5 },
        nested: { type: "object", properties: { deep: { default: [1] } } },
        made: { type: "object", default: {}, properties: { inner: { default: "x" } } },
      },
    };
    expect(await check(schema, { loud: false, none: null, nested: {} })).toEqual({
      value: { units: "metric", loud: false, none: null, nested: { deep: [1] }, made: { inner: "x" } },
    });
  });

  test("satisfy required", async () => {
    const schema = { type: "object", properties: { a: { default: 1 } }, required: ["a"] };
    expect(await check(schema, {})).toEqual({ value: { a: 1 } });
  });

  test("are created for each call, and the given value does not change", async () => {
    const schema = { type: "object", properties: { list: { default: [] as number[] } } };
    const given = {};
    const first = (await check(schema, given)).value as { list: number[] };
    first.list.push(1);
    expect(await check(schema, given)).toEqual({ value: { list: [] } });
    expect(given).toEqual({});
  });

  test("are filled in for the items of an array", async () => {
    const schema = { type: "array", items: { type: "object", properties: { a: { default: 1 } } } };
    expect(await check(schema, [{}])).toEqual({ value: [{ a: 1 }] });
  });

  test("are filled in from a $ref", async () => {
    const schema = {
      type: "object",
      properties: { place: { $ref: "#/$defs/place" } },
      $defs: { place: { type: "object", properties: { country: { default: "FR" } } } },
    };
    expect(await check(schema, { place: {} })).toEqual({ value: { place: { country: "FR" } } });
  });

  test("are taken from the target of a property's $ref", async () => {
    const schema = {
      type: "object",
      properties: { unit: { $ref: "#/$defs/unit" } },
      $defs: { unit: { type: "string", default: "c" } },
    };
    expect(await check(schema, {})).toEqual({ value: { unit: "c" } });
  });

  test("do not change a prototype for a property named __proto__", async () => {
    const value: unknown = JSON.parse('{"__proto__":{"polluted":true},"a":1}');
    const outcome = await check({ type: "object", properties: { a: {}, b: { default: 2 } } }, value);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect("value" in outcome && (outcome.value as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe("the definition of a schema", () => {
  test.each(["http://json-schema.org/draft-04/schema#", "https://example.com/dialect", "2020-12"])(
    "refuses the dialect %j, naming it and the supported dialects",
    (dialect) => {
      const make = () => jsonSchema({ $schema: dialect, type: "object" });
      expect(make).toThrow(expect.objectContaining({ code: "schema-unsupported" }));
      expect(make).toThrow(dialect);
      expect(make).toThrow(/2020-12/);
    },
  );

  test.each([
    D2020,
    `${D2020}#`,
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
  ])("accepts the dialect %s", async (dialect) => {
    expect(await accepts({ $schema: dialect, type: "string" }, "a")).toBe(true);
    expect(await accepts({ $schema: dialect, type: "string" }, 1)).toBe(false);
  });

  test.each([
    "https://example.com/other.json",
    "https://example.com/other.json#/a",
    "file:///other",
    "urn:example:other",
    "//example.com/other",
    "other.json",
    "./other.json#/a",
    "/other.json",
    "x/properties/b",
  ])("refuses the $ref %s to another document, naming it", (ref) => {
    const make = () => jsonSchema({ type: "object", properties: { a: { items: [{ $ref: ref }] }, b: {} } });
    expect(make).toThrow(KitError);
    expect(make).toThrow(`the reference "${ref}" is not in the schema, and other documents are not fetched`);
  });

  test.each(["#/$defs/absent", "#absent", "#/properties/a/1", "#/$defs/constructor", "#/toString"])(
    "refuses the $ref %s to a missing target, naming it",
    (ref) => {
      const make = () => jsonSchema({ type: "object", properties: { a: { $ref: ref } }, $defs: {} });
      expect(make).toThrow(KitError);
      expect(make).toThrow(`the reference "${ref}" is not in the schema`);
    },
  );

  test("refuses a $ref to another document in a property that has the name of a keyword", () => {
    const make = () => jsonSchema({ type: "object", properties: { default: { $ref: "other.json" } } });
    expect(make).toThrow('the reference "other.json" is not in the schema');
  });

  test("refuses a $dynamicRef to another document", () => {
    expect(() => jsonSchema({ $dynamicRef: "https://example.com/other.json#node" })).toThrow(KitError);
  });

  test("accepts a property or value that is only named $ref", async () => {
    const schema = {
      type: "object",
      properties: { $ref: { type: "string" } },
      examples: [{ $ref: "https://example.com" }],
    };
    expect(await accepts(schema, { $ref: "https://example.com/x" })).toBe(true);
  });
});

describe("the error for an invalid value", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      "a/b~c": { type: "number" },
      "50% off": { type: "number" },
      list: { type: "array", items: { type: "object", properties: { n: { type: "integer", minimum: 0 } } } },
    },
    required: ["name"],
    additionalProperties: false,
  };

  test.each<[unknown, string]>([
    [{ name: 1 }, "name"],
    [{ name: "a", list: [{ n: 1 }, { n: -1 }] }, "list/1/n"],
    [{ name: "a", "a/b~c": "x" }, "a/b~c"],
    [{ name: "a", "50% off": "x" }, "50% off"],
  ])("%j contains the field %s", async (value, path) => {
    const outcome = await check(schema, value);
    expect("paths" in outcome && outcome.paths).toContain(path);
  });

  test("contains a missing and an unknown field in its message or path", async () => {
    expect(JSON.stringify(await check(schema, {}))).toContain("name");
    expect(JSON.stringify(await check(schema, { name: "a", extra: 1 }))).toContain("extra");
  });

  test("contains both of two invalid fields", async () => {
    const two = { type: "object", properties: { a: { type: "string" }, longer: { type: "string" } } };
    const outcome = await check(two, { a: 1, longer: 1 });
    expect("paths" in outcome && outcome.paths?.toSorted()).toEqual(["a", "longer"]);
  });

  test("is absent for an undefined member, which counts as missing, as in JSON", async () => {
    expect(await accepts({ type: "object", properties: { a: { type: "string" } } }, { a: undefined })).toBe(true);
  });

  test.each([null, [], "a", 1, true, undefined])("is caused by %j, which is not an object (%#)", async (value) => {
    expect(await accepts(schema, value)).toBe(false);
  });
});

describe("hostile values", () => {
  const node = { type: "object", properties: { next: { $ref: "#" }, list: { type: "array", items: { $ref: "#" } } } };
  const deep = (levels: number) => {
    let value: unknown = {};
    for (let level = 0; level < levels; level++) value = { next: value };
    return value;
  };
  const outcome = async (schema: Schema, value: unknown) => {
    try {
      return (await accepts(schema, value)) ? "fits" : "misfit";
    } catch (error) {
      return error instanceof Error ? "error" : "odd";
    }
  };

  test("10,000 levels cause a result or an error, and the next value is checked", async () => {
    expect(await outcome(node, deep(10_000))).not.toBe("odd");
    expect(await outcome(node, deep(2))).toBe("fits");
  });

  test("200,000 entries are all checked", { tags: "long" }, async () => {
    const schema = { type: "array", items: { type: "integer" } };
    const list: unknown[] = Array.from({ length: 200_000 }, (_, place) => place);
    expect(await outcome(schema, list)).toBe("fits");
    list[199_999] = "x";
    expect(await outcome(schema, list)).toBe("misfit");
  });

  test("200,000 invalid entries cause an error that names a field", async () => {
    const schema = { type: "array", items: { type: "integer" } };
    expect(
      await outcome(
        schema,
        Array.from({ length: 200_000 }, () => "x"),
      ),
    ).toBe("misfit");
  });

  test("a string of megabytes and tens of thousands of keys are checked", async () => {
    expect(await outcome({ type: "string", maxLength: 10 }, "x".repeat(4_000_000))).toBe("misfit");
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, place) => [`k${place}`, place]));
    expect(await outcome({ additionalProperties: { type: "number" } }, wide)).toBe("fits");
  });

  test("a schema that only refers to itself causes a result or an error", async () => {
    let made: Schema | undefined;
    try {
      jsonSchema({ $ref: "#" });
      made = { $ref: "#" };
    } catch (error) {
      expect(KitError.is(error)).toBe(true);
    }
    if (made) expect(await outcome(made, 1)).not.toBe("odd");
  });

  test("a tool accepts a raw schema and its types", () => {
    const server = new McpServer({ name: "raw", version: "1.0.0" });
    const input = jsonSchema<{ a: number }>({ type: "object", properties: { a: { type: "number" } }, required: ["a"] });
    server.tool("double", { input }, ({ a }) => String(a * 2));
    expect(server[REGISTRY].tools.size).toBe(1);
  });
});
