/** Forms for JSON Schemas: fields, values and errors. */
import { describe, expect, test } from "vitest";
import { check } from "../../src/page-app/forms/check.ts";
import { SchemaReader } from "../../src/page-app/forms/schema.ts";
import { initialValue, valueAt, withValue } from "../../src/page-app/forms/values.ts";

const read = (schema: object) => new SchemaReader(schema as never).read(schema);
const initial = (schema: object) => initialValue(new SchemaReader(schema as never), schema);
const mistakes = (schema: object, value: unknown) =>
  check(new SchemaReader(schema as never), schema, value).map(({ path, text }) => `${path.join("/")}: ${text}`);

describe("the field of a schema", () => {
  test.each([
    ["a text", { type: "string" }, { kind: "text", input: "text", isLong: true }],
    ["a short text", { type: "string", maxLength: 20 }, { kind: "text", input: "text", isLong: false }],
    ["an address", { type: "string", format: "email" }, { kind: "text", input: "email", isLong: false }],
    ["a URL", { type: "string", format: "uri" }, { kind: "text", input: "url", isLong: false }],
    ["a date", { type: "string", format: "date" }, { kind: "text", input: "date", isLong: false }],
    ["a secret", { type: "string", writeOnly: true }, { kind: "text", input: "password", isLong: false }],
    ["a file", { type: "string", contentEncoding: "base64" }, { kind: "file" }],
    ["a file with format byte", { type: "string", format: "byte" }, { kind: "file" }],
    ["a number", { type: "number", minimum: 1, maximum: 9 }, { kind: "number", isInteger: false, min: 1, max: 9 }],
    ["a whole number", { type: "integer" }, { kind: "number", isInteger: true }],
    ["a number or null", { type: ["integer", "null"] }, { kind: "number", isInteger: true }],
    ["a boolean", { type: "boolean" }, { kind: "boolean" }],
    ["a constant", { const: 7 }, { kind: "constant", preset: 7 }],
    ["any value", {}, { kind: "json" }],
    ["a map", { type: "object", additionalProperties: { type: "number" } }, { kind: "json" }],
    ["a list of anything", { type: "array" }, { kind: "json" }],
    ["a tuple", { type: "array", items: [{ type: "string" }] }, { kind: "json" }],
    ["an alternative of types", { type: ["string", "number"] }, { kind: "json" }],
  ])("of %s", (_, schema, field) => {
    expect(read(schema)).toMatchObject(field);
  });

  test("of an enum has its values, with titles if they exist", () => {
    expect(read({ enum: ["a", 1, null] })).toMatchObject({
      kind: "choice",
      choices: [
        { value: "a", title: "a" },
        { value: 1, title: "1" },
        { value: null, title: "null" },
      ],
    });
    expect(read({ enum: ["a", "b"], enumNames: ["A"] })).toMatchObject({ choices: [{ title: "A" }, { title: "b" }] });
  });

  test.each(["oneOf", "anyOf"])("of constants in %s is a choice with their titles", (keyword) => {
    const schema = { type: "string", [keyword]: [{ const: "a", title: "First" }, { const: "b" }] };
    expect(read(schema)).toMatchObject({
      kind: "choice",
      choices: [
        { value: "a", title: "First" },
        { value: "b", title: "b" },
      ],
    });
  });

  test("of a list of choices allows several choices, including choices with titles", () => {
    expect(read({ type: "array", items: { enum: ["a", "b"] } })).toMatchObject({
      kind: "choices",
      choices: [{ value: "a" }, { value: "b" }],
    });
    expect(read({ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } })).toMatchObject({
      kind: "choices",
      choices: [{ title: "A" }],
    });
  });

  test("of an object lists its members, and whether they are required", () => {
    const field = read({ properties: { a: { type: "string" }, b: true }, required: ["a"] });
    expect(field).toMatchObject({
      kind: "object",
      members: [
        { name: "a", schema: { type: "string" }, isRequired: true },
        { name: "b", schema: {}, isRequired: false },
      ],
    });
  });

  test("of alternatives lists each alternative with a title", () => {
    const circle = { type: "object", title: "Circle", properties: { radius: { type: "number" } } };
    expect(read({ oneOf: [circle, { type: "string" }] })).toMatchObject({
      kind: "variants",
      variants: [{ title: "Circle" }, { title: "string" }],
    });
  });

  test("of alternatives beside members combines both", () => {
    const schema = {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
      anyOf: [
        { properties: { phone: { type: "string" } }, required: ["phone"] },
        { properties: { mail: { type: "string" } } },
      ],
    };
    const field = read(schema);
    if (field.kind !== "variants") throw new Error(field.kind);
    expect(field.variants[0]?.schema).toMatchObject({
      properties: { name: {}, phone: {} },
      required: ["phone", "name"],
    });
  });

  test("of alternatives that only contain constraints is the field of the members", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" } },
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    };
    expect(read(schema)).toMatchObject({ kind: "object", members: [{ name: "a" }] });
  });

  test("resolves references in the document, including recursive references", () => {
    const schema = {
      $defs: { "a/b": { type: "integer" }, tree: { type: "object", properties: { child: { $ref: "#/$defs/tree" } } } },
      properties: {
        n: { $ref: "#/$defs/a~1b", title: "N" },
        t: { $ref: "#/$defs/tree" },
        loop: { $ref: "#/properties/loop" },
        far: { $ref: "https://example.com/x" },
      },
    };
    const reader = new SchemaReader(schema as never);
    expect(reader.read(schema.properties.n)).toMatchObject({ kind: "number", isInteger: true, title: "N" });
    expect(reader.read(schema.properties.t)).toMatchObject({ kind: "object", members: [{ name: "child" }] });
    expect(reader.read(schema.properties.loop)).toMatchObject({ kind: "json" });
    expect(reader.read(schema.properties.far)).toMatchObject({ kind: "json" });
  });

  test("merges the schemas in allOf", () => {
    const schema = { allOf: [{ type: "object", properties: { a: {} }, required: ["a"] }, { properties: { b: {} } }] };
    expect(read(schema)).toMatchObject({
      kind: "object",
      members: [{ name: "b" }, { name: "a", isRequired: true }],
    });
  });
});

describe("the initial value of a form", () => {
  test("has defaults, and required objects with their defaults", () => {
    const schema = {
      type: "object",
      properties: {
        city: { type: "string", default: "Bern" },
        to: { type: "object", properties: { floor: { type: "integer", default: 2 } } },
        maybe: { type: "object", properties: { x: { default: 1 } } },
        on: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
        fixed: { const: "v1" },
      },
      required: ["to", "on", "tags", "fixed"],
    };
    expect(initial(schema)).toEqual({ city: "Bern", to: { floor: 2 }, on: false, tags: [], fixed: "v1" });
  });

  test("terminates for a schema that contains itself", () => {
    const tree = { $ref: "#/$defs/tree" };
    const schema = { $defs: { tree: { type: "object", properties: { child: tree }, required: ["child"] } }, ...tree };
    expect(JSON.stringify(initial(schema)).length).toBeLessThan(500);
  });
});

describe("the value at a path", () => {
  test("is read and changed, while values at other paths remain the same objects", () => {
    const value = { a: { b: [1, 2, 3] }, c: { d: 1 } };
    expect(valueAt(value, ["a", "b", 1])).toBe(2);
    expect(valueAt(value, ["a", "x", 1])).toBeUndefined();
    expect(valueAt(value, ["toString"])).toBeUndefined();
    const changed = withValue(value, ["a", "b", 1], 9) as typeof value;
    expect(changed).toEqual({ a: { b: [1, 9, 3] }, c: { d: 1 } });
    expect(changed.c).toBe(value.c);
    expect(value.a.b).toEqual([1, 2, 3]);
  });

  test("is removed by undefined, as a member or as an item of a list", () => {
    expect(withValue({ a: 1, b: 2 }, ["a"], undefined)).toEqual({ b: 2 });
    expect(withValue({ a: [1, 2] }, ["a", 0], undefined)).toEqual({ a: [2] });
    expect(withValue(undefined, ["a", "b"], 1)).toEqual({ a: { b: 1 } });
  });
});

describe("the check", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      size: { type: "integer" },
      kind: { enum: ["a", "b"] },
      list: { type: "array", items: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } },
    },
    required: ["name", "kind"],
  };

  test("finds missing values and values of a wrong type, with their paths", () => {
    expect(mistakes(schema, {})).toEqual(["name: Required.", "kind: Required."]);
    expect(mistakes(schema, { name: 1, kind: "c", size: 1.5, list: [{ n: "x" }, {}] })).toEqual([
      "name: Must be text.",
      "size: Must be a whole number.",
      "kind: Choose one of the values.",
      "list/0/n: Must be a number.",
      "list/1/n: Required.",
    ]);
    expect(mistakes(schema, { name: "x", kind: "a", list: [] })).toEqual([]);
  });

  test("accepts null if it is one of the types, and values that match one of several schemas", () => {
    expect(mistakes({ type: ["string", "null"] }, null)).toEqual([]);
    const either = { oneOf: [{ type: "object", properties: { a: {} }, required: ["a"] }, { type: "string" }] };
    expect(mistakes(either, "x")).toEqual([]);
    expect(mistakes(either, {})).toEqual(["a: Required."]);
  });
});
