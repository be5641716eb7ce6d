/**
 * Prepares the output schemas of servers for validation. Schemas are untrusted, so their size and depth and the work of one validation
 * are limited, and no schema is fetched.
 *
 * @module
 * @see MCP 2026-07-28, basic, "JSON Schema Usage"
 */
import { dereference, validate } from "@cfworker/json-schema";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";

/** A violation of the output schema. */
export interface OutputIssue {
  /**
   * The path in `structuredContent` as a JSON Pointer (RFC 6901), such as `/rows/0/name`. Empty for the whole value.
   */
  readonly path: string;
  /** A description of the violation. */
  readonly message: string;
}

/** The maximum nesting of a schema, and of a result. */
const DEPTH_MAX = 128;
/** The maximum number of values in a schema. */
const VALUES_MAX = 10_000;
/** The maximum number of references that one validation follows: a base, and a number for each value of the result. */
const FOLLOWED = { base: 10_000, perValue: 20 } as const;

const DIALECTS: Readonly<Record<string, "2020-12" | "7">> = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "http://json-schema.org/draft-07/schema": "7",
};

/** Keywords whose value maps names to schemas. The names are not keywords. */
const MAPS: readonly string[] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/** Keywords whose value is data, not a schema. */
const DATA: readonly string[] = ["const", "enum", "default", "examples", "required", "dependentRequired"];
/** Keywords of other dialects. They are removed, because the validator would apply them in every dialect. */
const FOREIGN: readonly string[] = ["id", "$recursiveRef", "$recursiveAnchor"];
/** Keywords whose issues only repeat the issues of the schemas inside them. */
const WRAPPERS: readonly string[] = [
  ..."$ref allOf anyOf oneOf then else if properties patternProperties additionalProperties".split(" "),
  ..."unevaluatedProperties items prefixItems additionalItems unevaluatedItems".split(" "),
];

/** Validates a value. Returns the violations; an empty array if the value is valid. */
export type OutputCheck = (value: unknown) => readonly OutputIssue[];

/**
 * Prepares a schema of 2020-12 (the default) or draft-07.
 *
 * @throws {Error} if the schema has another dialect, refers to another document, or is too large or nested too deeply.
 */
export function prepareOutput(schema: unknown): OutputCheck {
  const { $schema = "https://json-schema.org/draft/2020-12/schema" } = isObject(schema) ? schema : {};
  const dialect = String($schema).replace(/#$/, "");
  const draft = Object.hasOwn(DIALECTS, dialect) ? DIALECTS[dialect] : undefined;
  if (!draft) throw new Error(`its dialect ${JSON.stringify($schema)} is neither 2020-12 nor draft-07`);
  let values = 0;
  const root = copy(schema, 0, () => {
    values += 1;
    if (values > VALUES_MAX) throw new Error(`it has more than ${VALUES_MAX} values`);
  }) as JsonObject;
  const known = dereference(root);
  for (const each of Object.values(known)) {
    const { $ref, __absolute_ref__: target } = each as { $ref?: string; __absolute_ref__?: string };
    if (target !== undefined && !(target in known)) {
      throw new Error(`$ref ${JSON.stringify($ref)} is not in the schema, and other documents are not fetched`);
    }
  }
  return (value) => {
    let budget: number = FOLLOWED.base + FOLLOWED.perValue * countValues(value, 0);
    const lookup = new Proxy(known, {
      get(target, uri) {
        budget -= 1;
        if (budget < 0) throw new Error("the schema makes validation too expensive");
        return target[String(uri)];
      },
    });
    const { valid, errors } = validate(value, root, draft, lookup, true);
    if (valid) return [];
    const causes = errors.filter(({ keyword }) => !WRAPPERS.includes(keyword));
    return (causes.length > 0 ? causes : errors).map(({ instanceLocation, keyword, error }) => ({
      path: decodeURIComponent(instanceLocation.slice(1)),
      message: keyword === "false" ? "The schema allows nothing here." : error,
    }));
  };
}

/**
 * Copies a schema, because the validator modifies it. Dynamic references become plain references, because there is only one document.
 */
function copy(schema: unknown, depth: number, count: () => void): unknown {
  count();
  if (depth > DEPTH_MAX) throw new Error(`it is nested deeper than ${DEPTH_MAX}`);
  if (Array.isArray(schema)) return schema.map((each) => copy(each, depth + 1, count));
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (FOREIGN.includes(keyword)) return [];
    if (keyword === "$dynamicAnchor") return [["$anchor", value]];
    if (DATA.includes(keyword)) return [[keyword, copyData(value, depth + 1, count)]];
    if (!MAPS.includes(keyword) || !isObject(value)) return [[keyword, copy(value, depth + 1, count)]];
    const named = Object.entries(value).map(([name, each]) => [name, copy(each, depth + 2, count)]);
    return [[keyword, Object.fromEntries(named)]];
  });
  const { $dynamicRef, ...rest } = Object.fromEntries(members);
  if ($dynamicRef === undefined) return rest;
  return { ...rest, allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), { $ref: $dynamicRef }] };
}

function copyData(value: unknown, depth: number, count: () => void): unknown {
  count();
  if (depth > DEPTH_MAX) throw new Error(`it is nested deeper than ${DEPTH_MAX}`);
  if (Array.isArray(value)) return value.map((each) => copyData(each, depth + 1, count));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyData(each, depth + 1, count)]));
}

function countValues(value: unknown, depth: number): number {
  if (depth > DEPTH_MAX) throw new Error(`the result is nested deeper than ${DEPTH_MAX}`);
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, each) => sum + countValues(each, depth + 1), 1);
}
