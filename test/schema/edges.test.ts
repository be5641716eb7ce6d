/** jsonSchema(): references, defaults and reports at their limits. */
import { describe, expect, test } from "vitest";
import { prepareSchema } from "../../src/schema/document.ts";
import { jsonSchema } from "../../src/schema/index.ts";

type Json = Readonly<Record<string, unknown>>;

/** Validates a value. The result is not a promise, because JSON Schema needs none. */
function validate(schema: Json, value: unknown) {
  const result = jsonSchema(schema)["~standard"].validate(value);
  if (result instanceof Promise) throw new Error("the result is a promise");
  return result;
}

const resultOf = (schema: Json, value: unknown) => {
  const result = validate(schema, value);
  expect(result.issues).toBeUndefined();
  return (result as { readonly value: unknown }).value;
};

/** Nests a value in arrays, and in objects with the member `in`. */
const nest = (value: unknown, levels: number, wrap: (value: unknown) => unknown): unknown =>
  levels === 0 ? value : nest(wrap(value), levels - 1, wrap);
const inArray = (value: unknown) => [value];
const inObject = (value: unknown) => ({ in: value });

describe("references", () => {
  test.each([
    ["another document, in items", { items: { $ref: "other.json" } }, "other.json"],
    ["a character of a string", { title: "abc", $ref: "#/title/0" }, "#/title/0"],
    ["a member of nothing", { $ref: "#/missing/deeper" }, "#/missing/deeper"],
    ["an unknown anchor", { $ref: "#name" }, "#name"],
    ["an example of OpenAPI, which is data", { example: {}, $ref: "#/example" }, "#/example"],
    ["an example, which is data", { examples: [{}], $ref: "#/examples/0" }, "#/examples/0"],
    ["an address with a broken escape", { $ref: "#/a%ZZ" }, "#/a%ZZ"],
  ])("are refused if they refer to %s", (_, schema, reference) => {
    const message = `A JSON Schema cannot be used: the reference "${reference}" is not in the schema, and other documents are not fetched.`;
    expect(() => jsonSchema(schema)).toThrow(
      expect.objectContaining({ code: "schema-unsupported", message, cause: expect.any(Error) }),
    );
  });

  test("to a part with an $id of its own are followed, also by defaults", () => {
    const unit = { $id: "https://example.com/unit", type: "string", default: "C" };
    const schema = { properties: { unit: { $ref: "https://example.com/unit" } }, $defs: { unit } };
    expect(resultOf(schema, {})).toEqual({ unit: "C" });
    expect(validate(schema, { unit: 1 }).issues).toHaveLength(1);
  });

  test.each([
    [
      "two parts have the same $id",
      { a: { $id: "https://e.com/a" }, b: { $id: "https://e.com/a", type: "string" } },
      '$id "https://e.com/a"',
    ],
    ["two parts have the same anchor", { a: { $anchor: "n" }, b: { $dynamicAnchor: "n" } }, 'anchor "n"'],
    ["an $id is no URI", { a: { $id: "https://" } }, 'the $id "https://" is not a URI'],
    [
      "an $id is too long",
      { a: { $id: `https://e.com/${"x".repeat(2_000)}` } },
      "is not a URI of at most 2000 characters",
    ],
    ["a reference is no URI", { a: { $ref: "http://[x" } }, 'the reference "http://[x" is not in the schema'],
    ["it names no schema", { a: { $ref: 1 } }, "the reference 1 is not in the schema"],
  ])("are refused if %s", (_, $defs, text) => {
    const message = expect.stringMatching(/^A JSON Schema cannot be used: .+\.$/);
    expect(() => jsonSchema({ $defs })).toThrow(expect.objectContaining({ code: "schema-unsupported", message }));
    expect(() => jsonSchema({ $defs })).toThrow(text);
  });

  test("may name a part that is used in several places", () => {
    const unit = { $id: "https://e.com/unit", $anchor: "unit", type: "string" };
    const schema = { properties: { a: unit, b: unit, c: { $ref: "https://e.com/unit#unit" } } };
    expect(validate(schema, { a: "x", b: "x", c: "x" }).issues).toBeUndefined();
    for (const name of ["a", "b", "c"]) expect(validate(schema, { [name]: 1 }).issues).toHaveLength(1);
    const sent = JSON.parse(JSON.stringify(schema)) as Json;
    expect(validate(sent, { a: "x", b: "x", c: "x" }).issues).toBeUndefined();
    expect(validate(sent, { c: 1 }).issues).toHaveLength(1);
  });

  test("of draft-07 may name the fragment of an $id, and hide an $id beside them", () => {
    const $schema = "http://json-schema.org/draft-07/schema";
    const definitions = {
      own: { $id: "https://e.com/root#own", type: "string" },
      other: { $id: "other#anchor", type: "string" },
      hidden: { $id: "other", $ref: "#own" },
    };
    const items = [{ $ref: "#own" }, { $ref: "other#anchor" }, { $ref: "other" }, { $ref: "#/definitions/hidden" }];
    const schema = { $schema, $id: "https://e.com/root", definitions, items };
    expect(validate(schema, ["a", "b", "c", "d"]).issues).toBeUndefined();
    for (const at of [0, 1, 2, 3]) {
      const value = ["a", "b", "c", "d"].map((text, index) => (index === at ? 1 : text));
      expect(validate(schema, value).issues).toEqual([expect.objectContaining({ path: [String(at)] })]);
    }
  });

  test.each([
    ["", { properties: { a: { type: "string" } } }, { a: 1 }],
    ["#/$defs/Record%3Cstring%2Cnumber%3E", { $defs: { "Record<string,number>": { type: "object" } } }, 1],
    ["#/$defs/a~1b~0c", { $defs: { "a/b~c": { type: "string" } } }, 1],
    ["#/$defs/", { $defs: { "": { type: "string" } } }, 1],
    ["#/$defs/a/anyOf/0", { $defs: { a: { anyOf: [{ type: "string" }] } } }, 1],
    ["#/$defs/none", { $defs: { none: false } }, 1],
  ])("are followed as they are written: %j", (reference, schema, value) => {
    const referring = { ...schema, items: { $ref: reference } };
    expect(validate(referring, [value]).issues).not.toBeUndefined();
    expect(validate(referring, []).issues).toBeUndefined();
  });

  test("find an anchor in the part in which they are", () => {
    const outer = { properties: { x: { $ref: "#n" } }, $defs: { a: { $anchor: "n", type: "string" } } };
    const inner = { $id: "https://e.com/t", $anchor: "n", type: "object", properties: { y: { $ref: "#n" } } };
    const schema = { $id: "https://e.com/root", ...outer, $defs: { ...outer.$defs, inner } };
    expect(validate(schema, { x: 1 }).issues).toHaveLength(1);
    expect(validate(schema, { x: "text" }).issues).toBeUndefined();
    const other = { $ref: "https://e.com/t", $defs: schema.$defs };
    expect(validate(other, { y: {} }).issues).toBeUndefined();
    expect(validate(other, { y: "text" }).issues).not.toBeUndefined();
  });

  test("are prepared in linear time if schemas with an $id are nested", () => {
    let schema: Json = { type: "string" };
    for (let level = 0; level < 100; level += 1) schema = { $id: `https://e.com/${level}`, not: schema };
    expect(validate({ not: schema }, "text").issues).not.toBeUndefined();
    expect(validate(schema, "text").issues).toBeUndefined();
  });

  test("are refused at once if their host is long and not ASCII", () => {
    const host = Array.from({ length: 80_000 }, (_, index) => String.fromCodePoint(0x4e00 + (index % 20_000))).join("");
    expect(() => jsonSchema({ $ref: `https://${host}/` })).toThrow("is not in the schema");
    expect(() => jsonSchema({ $id: `https://${host}/` })).toThrow("is not a URI");
    expect(() => jsonSchema({ $id: "https://e.com/größe" })).toThrow("is not a URI");
  });

  test("are prepared in linear time if a name is long", () => {
    const properties = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, {}]));
    const schema = { properties: { ["x".repeat(20_000)]: { properties } } };
    expect(validate(schema, {}).issues).toBeUndefined();
  });

  test.each(["http://json-schema.org/draft-07/schema", undefined])(
    "in dependencies are followed in the dialect %s",
    ($schema) => {
      const named = { required: ["name"] };
      const dependencies = { id: ["name"], examples: named, type: { $ref: "#/definitions/named" }, $ref: ["name"] };
      const schema = { ...($schema && { $schema }), dependencies, definitions: { named } };
      for (const name of Object.keys(dependencies)) {
        expect(validate(schema, { [name]: 1, name: "a" }).issues).toBeUndefined();
        expect(validate(schema, { [name]: 1 }).issues).not.toBeUndefined();
      }
    },
  );

  test.each([true, undefined])(
    "to the schema itself may be recursive in 2019-09, with $recursiveAnchor: %s",
    (anchor) => {
      const schema = {
        $schema: "https://json-schema.org/draft/2019-09/schema",
        $recursiveAnchor: anchor,
        properties: { name: { type: "string" }, child: { $recursiveRef: "#" } },
      };
      const value = { child: { child: { name: "a" } } };
      expect(resultOf(schema, value)).toEqual(value);
      const { issues } = validate(schema, { child: { child: { name: 1 } } });
      expect(issues).toEqual([expect.objectContaining({ path: ["child", "child", "name"] })]);
    },
  );

  test.each([
    ["$dynamicRef", "https://json-schema.org/draft/2019-09/schema"],
    ["$dynamicRef", "http://json-schema.org/draft-07/schema"],
    ["$recursiveRef", "http://json-schema.org/draft-07/schema"],
    ["$recursiveRef", undefined],
  ])("with %s mean nothing in the dialect %s", (keyword, $schema) => {
    const schema = { ...($schema && { $schema }), properties: { a: { [keyword]: "#" } }, required: ["a"] };
    expect(resultOf(schema, { a: {} })).toEqual({ a: {} });
  });

  test("are followed in a frozen schema", () => {
    const schema = Object.freeze({
      $schema: "http://json-schema.org/draft-07/schema",
      $ref: "#/definitions/a",
      definitions: Object.freeze({ a: Object.freeze({ type: "string" }) }),
    });
    expect(resultOf(schema, "text")).toBe("text");
    expect(validate(schema, 1).issues).toHaveLength(1);
  });

  test.each([
    ["$anchor", { $ref: "#n", $defs: { a: { $anchor: "n", type: "string" } } }],
    [
      "$id, as in draft-07",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        $ref: "#n",
        definitions: { a: { $id: "#n", type: "string" } },
      },
    ],
  ])("may name an anchor: %s", (_, schema) => {
    expect(validate(schema, "text").issues).toBeUndefined();
    expect(validate(schema, 1).issues).toHaveLength(1);
  });

  test.each([
    ["alone", { $dynamicRef: "#n" }],
    ["beside a $ref", { $ref: "#/$defs/any", $dynamicRef: "#n" }],
    ["beside allOf", { allOf: [true], $dynamicRef: "#n" }],
    ["in a list", { anyOf: [{ $dynamicRef: "#n" }] }],
  ])("to a $dynamicAnchor are followed: %s", (_, text) => {
    const $defs = { any: true, a: { $dynamicAnchor: "n", type: "string" } };
    const schema = { properties: { text }, $defs };
    expect(resultOf(schema, { text: "x" })).toEqual({ text: "x" });
    expect(validate(schema, { text: 1 }).issues).toEqual([expect.objectContaining({ path: ["text"] })]);
  });

  test("to a $dynamicAnchor may be recursive", () => {
    const schema = {
      $dynamicAnchor: "node",
      properties: { name: { type: "string" }, children: { items: { $dynamicRef: "#node" } } },
    };
    expect(resultOf(schema, { children: [{ name: "a" }] })).toEqual({ children: [{ name: "a" }] });
    const { issues } = validate(schema, { children: [{ children: [{ name: 1 }] }] });
    expect(issues).toEqual([expect.objectContaining({ path: ["children", "0", "children", "0", "name"] })]);
  });

  test("to a $dynamicAnchor are not changed in the listed schema, in data, and among the names of properties", () => {
    const schema = {
      $ref: "#/$defs/a",
      properties: { $dynamicRef: { const: { $dynamicRef: "#m" } }, $dynamicAnchor: { type: "number" } },
      $defs: { a: { $dynamicAnchor: "n" } },
    };
    const value = { $dynamicRef: { $dynamicRef: "#m" }, $dynamicAnchor: 1 };
    expect(resultOf(schema, value)).toEqual(value);
    expect(validate(schema, { $dynamicAnchor: "text" }).issues).toHaveLength(1);
    expect(jsonSchema(schema)["~standard"].jsonSchema.input({ target: "draft-2020-12" })).toBe(schema);
  });

  test("to a $dynamicAnchor are refused if there is none", () => {
    expect(() => jsonSchema({ $dynamicRef: "#m", $defs: {} })).toThrow(/the reference "#m" is not in the schema/);
  });

  test.each(["n", "m"])("to a schema with two anchors are followed: %s", (name) => {
    const schema = { $dynamicRef: `#${name}`, $defs: { a: { $dynamicAnchor: "n", $anchor: "m", type: "string" } } };
    expect(validate(schema, "text").issues).toBeUndefined();
    expect(validate(schema, 1).issues).toHaveLength(1);
  });

  test.each([
    ["2020-12", { $dynamicAnchor: "n" }, { $dynamicRef: "#n" }, '"#n"'],
    ["2019-09", { $recursiveAnchor: true }, { $recursiveRef: "#" }, '"#"'],
  ])("with several targets at the time of validation are refused in %s", (version, anchor, reference, name) => {
    const tree = { $id: "https://e.com/tree", ...anchor, properties: { child: reference } };
    const schema = {
      $schema: `https://json-schema.org/draft/${version}/schema`,
      $ref: "https://e.com/tree",
      $defs: { tree },
    };
    expect(validate(schema, { child: {} }).issues).toBeUndefined();
    const plain = { $recursiveAnchor: false, $id: "https://e.com/plain", required: ["child"], ...schema };
    expect(validate(plain, { child: {} }).issues).toBeUndefined();
    const strict = { $id: "https://e.com/strict", ...anchor, required: ["child"], ...schema };
    expect(() => jsonSchema(strict)).toThrow(`the dynamic reference ${name} has several targets`);
  });

  test("a property may have the name of a keyword", () => {
    expect(resultOf({ properties: { $ref: { type: "string" } } }, { $ref: "other.json" })).toEqual({
      $ref: "other.json",
    });
  });

  test("a # is ignored only at the end of $schema", () => {
    expect(() => jsonSchema({ $schema: "http://json-schema.org/draft-07#/schema" })).toThrow(/is not supported/);
  });
});

describe("the copy for the validator", () => {
  test("has data as it is, also where it looks like a schema", () => {
    const data = { id: "a", in: { $dynamicAnchor: "b", examples: [{ id: "c" }] } };
    const schema = { properties: { any: { const: data }, one: { enum: [data] } } };
    expect(prepareSchema(schema).root).toEqual(schema);
    expect(validate(schema, { any: data, one: data }).issues).toBeUndefined();
  });

  test("is made of values of which each is counted with its depth", () => {
    const depths: number[] = [];
    prepareSchema({ properties: { a: { const: { b: 1 } } }, allOf: [{}] }, (depth) => depths.push(depth));
    expect(depths).toEqual([0, 1, 2, 3, 4, 1, 2]);
  });
});

describe("defaults", () => {
  test("of a property precede those of the schema that it refers to", () => {
    const $defs = { n: { type: "number", default: 2 } };
    const properties = { own: { $ref: "#/$defs/n", default: 1 }, referred: { $ref: "#/$defs/n" } };
    expect(resultOf({ properties, $defs }, {})).toEqual({ own: 1, referred: 2 });
  });

  test("of a schema that refers to itself are filled in down to a limit", () => {
    const schema = { properties: { child: { $ref: "#", default: {} } } };
    const levels = JSON.stringify(resultOf(schema, {})).match(/child/g)?.length;
    expect(levels).toBeGreaterThan(20);
    expect(levels).toBeLessThan(66);
  });

  test.each([
    ["arrays", inArray, { items: { $ref: "#" } }],
    ["objects", inObject, { properties: { in: { $ref: "#" } } }],
  ])("of members far deeper than the limit in %s are not filled in", (_, wrap, more) => {
    const schema = {
      ...more,
      properties: { unit: { default: "C" }, ...("properties" in more ? more.properties : {}) },
    };
    expect(JSON.stringify(resultOf(schema, nest({}, 10, wrap)))).toContain('{"unit":"C"');
    expect(JSON.stringify(resultOf(schema, nest({ last: true }, 80, wrap)))).toContain('{"last":true}');
  });

  test("are not looked for where a property has no schema", () => {
    expect(resultOf({ properties: { a: null, b: true } }, {})).toEqual({});
  });

  test("do not change a value of another type, which is reported", () => {
    const schema = { type: "array", items: { properties: { unit: { default: "C" } } } };
    for (const value of ["text", {}, null]) expect(validate(schema, value).issues).toHaveLength(1);
  });
});

describe("members without a value", () => {
  test("do not exist, also in lists", () => {
    const schema = { items: { properties: { unit: { type: "string" } }, additionalProperties: false } };
    expect(resultOf(schema, [{ unit: undefined }, { more: undefined }])).toStrictEqual([{}, {}]);
  });

  test.each([
    ["arrays", inArray],
    ["objects", inObject],
  ])("are left as they are far deeper than the limit in %s", (_, wrap) => {
    const [near, far] = [{ unit: undefined }, { unit: undefined }];
    const innermost = (value: unknown): unknown => {
      const next = Object.values(value as object)[0] as unknown;
      return typeof next === "object" ? innermost(next) : value;
    };
    expect(Object.keys(innermost(resultOf({}, nest(near, 10, wrap))) as object)).toEqual([]);
    expect(Object.keys(innermost(resultOf({}, nest(far, 80, wrap))) as object)).toEqual(["unit"]);
  });
});

describe("issues", () => {
  test("say that there is no value", () => {
    expect(validate({ type: "string" }, undefined).issues).toEqual([{ message: "there is no value" }]);
  });

  test("are reported even if only a false schema refuses the value", () => {
    expect(validate({ properties: { a: false } }, { a: 1 }).issues).not.toHaveLength(0);
  });

  test.each([
    ["are all reported for 10,000 values", Array.from({ length: 9_999 }, () => 0), 9_999],
    ["are cut after the first for 10,001 values", Array.from({ length: 10_000 }, () => 0), undefined],
    [
      "are cut after the first for more than 10,000 values in lists",
      Array.from({ length: 101 }, () => Array.from({ length: 100 }, () => 0)),
      undefined,
    ],
  ])("%s", (_, value, count) => {
    const schema = { items: { anyOf: [{ type: "string" }, { items: { type: "string" } }], not: { type: "number" } } };
    const issues = validate(schema, value).issues ?? [];
    const isCut = issues.at(-1)?.message === "the value is too large to report more issues";
    expect(isCut).toBe(count === undefined);
    if (count !== undefined) expect(issues.length).toBeGreaterThanOrEqual(count);
    else expect(issues.length).toBeLessThan(20);
  });
});
