/**
 * Prepares the output schemas of servers for validation. Schemas are untrusted, so their size and depth and the work of one validation
 * are limited, and no schema is fetched.
 *
 * @module
 * @see MCP 2026-07-28, basic, "JSON Schema Usage"
 */
import { validate } from "@cfworker/json-schema";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { prepareSchema } from "../../schema/document.ts";

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

/** Keywords whose issues only repeat the issues of the schemas inside them. */
const WRAPPERS: readonly string[] = [
  ..."$ref allOf anyOf oneOf then else if properties patternProperties additionalProperties".split(" "),
  ..."unevaluatedProperties items prefixItems additionalItems unevaluatedItems".split(" "),
];

/** Validates a value. Returns the violations; an empty array if the value is valid. */
export type OutputCheck = (value: unknown) => readonly OutputIssue[];

/**
 * Prepares a schema of 2020-12 (the default), 2019-09 or draft-07.
 *
 * @throws {Error} if the schema has another dialect, refers to another document, or is too large or nested too deeply.
 */
export function prepareOutput(schema: unknown): OutputCheck {
  if (!isObject(schema)) throw new Error("it is not an object");
  let values = 0;
  const { root, dialect, schemas } = prepareSchema(schema, (depth) => {
    values += 1;
    if (values > VALUES_MAX) throw new Error(`it has more than ${VALUES_MAX} values`);
    if (depth > DEPTH_MAX) throw new Error(`it is nested deeper than ${DEPTH_MAX}`);
  });
  return (value) => {
    let budget: number = FOLLOWED.base + FOLLOWED.perValue * countValues(value, 0);
    const lookup = new Proxy(schemas, {
      get(target, uri) {
        budget -= 1;
        if (budget < 0) throw new Error("the schema makes validation too expensive");
        return target[String(uri)];
      },
    });
    const { valid, errors } = validate(value, root, dialect, lookup, true);
    if (valid) return [];
    const causes = errors.filter(({ keyword }) => !WRAPPERS.includes(keyword));
    return (causes.length > 0 ? causes : errors).map(({ instanceLocation, keyword, error }) => ({
      path: decodeURIComponent(instanceLocation.slice(1)),
      message: keyword === "false" ? "The schema allows nothing here." : error,
    }));
  };
}

function countValues(value: unknown, depth: number): number {
  if (depth > DEPTH_MAX) throw new Error(`the result is nested deeper than ${DEPTH_MAX}`);
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, each) => sum + countValues(each, depth + 1), 1);
}
