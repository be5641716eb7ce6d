/**
 * mcp-edge/json-schema: raw JSON Schema as `input` or `output`. Validates by interpreting, so it works where
 * `new Function` is refused, as on Workers.
 *
 * @module
 */
import { Validator } from "@cfworker/json-schema";
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { SchemaIssue, SchemaResult, StandardJsonSchema, StandardSchema } from "../core/protocol/schema.ts";
import { checkRefs, resolveRef } from "./refs.ts";

/** A schema with a type for the handler. The type is trusted, not inferred from the schema. */
export type JsonSchemaOf<T> = StandardSchema<T, T> & StandardJsonSchema;

const DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema";

const DRAFTS: Readonly<Record<string, "2020-12" | "2019-09" | "7">> = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "https://json-schema.org/draft/2019-09/schema": "2019-09",
  "http://json-schema.org/draft-07/schema": "7",
};

/**
 * Wraps a JSON Schema (2020-12 unless `$schema` says 2019-09 or draft-07). Clients see it as it is, every keyword
 * kept; `default` values of absent properties are filled in before validation. A `$ref` to another document is never
 * fetched.
 *
 * @typeParam T What the handler gets, which the schema must guarantee.
 * @throws {KitError} `schema-unsupported` when the dialect is none of these, or a `$ref` leaves the document.
 * @see MCP 2026-07-28, basic, "JSON Schema Usage"
 */
export function jsonSchema<T = unknown>(schema: Readonly<Record<string, unknown>>): JsonSchemaOf<T> {
  const dialect = schema.$schema === undefined ? DEFAULT_DIALECT : String(schema.$schema).replace(/#$/, "");
  const draft = Object.hasOwn(DRAFTS, dialect) ? DRAFTS[dialect] : undefined;
  if (!draft) {
    throw new KitError(
      "schema-unsupported",
      `JSON Schema dialect ${JSON.stringify(schema.$schema)} is not supported. Supported: ${Object.keys(DRAFTS).join(", ")}.`,
    );
  }
  checkRefs(schema);
  const validators = { thorough: new Validator(schema, draft, false), quick: new Validator(schema, draft, true) };
  const show = () => schema as Record<string, unknown>;
  return {
    "~standard": {
      version: 1,
      vendor: "mcp-edge",
      validate: (value) =>
        check(validators, fillDefaults(schema, schema, withoutUndefined(value, 0), 0)) as SchemaResult<T>,
      jsonSchema: { input: show, output: show },
    },
  };
}

/** Values within a value for which every issue is looked for: a validator that goes on has an error object for each. */
const THOROUGH_MAX = 10_000;
/** Levels of a value that defaults are filled in at: a schema may refer to itself. */
const DEFAULTS_DEPTH_MAX = 64;

/** Keywords that only pass on what other keywords find; `false` is what "additionalProperties: false" finds. */
const PASSING = new Set([
  "properties",
  "items",
  "prefixItems",
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "then",
  "else",
  "if",
  "false",
]);

interface Validators {
  /** Finds every issue. */
  readonly thorough: Validator;
  /** Stops at the first. */
  readonly quick: Validator;
}

function check({ thorough, quick }: Validators, value: unknown): SchemaResult<unknown> {
  // The validator takes JSON values only.
  if (value === undefined) return { issues: [{ message: "there is no value" }] };
  const isLarge = countUpTo(THOROUGH_MAX, value) > THOROUGH_MAX;
  const { valid, errors } = (isLarge ? quick : thorough).validate(value);
  if (valid) return { value };
  const telling = errors.filter(({ keyword }) => !PASSING.has(keyword));
  const issues = (telling.length > 0 ? telling : errors).map(
    ({ instanceLocation, error }): SchemaIssue => ({ message: error, path: toPath(instanceLocation) }),
  );
  return { issues: isLarge ? [...issues, { message: "it is too large to look for further issues" }] : issues };
}

/** How many values a value consists of. Stops counting soon after `max`. */
function countUpTo(max: number, value: unknown): number {
  let count = 1;
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) {
      if (count > max) break;
      count += countUpTo(max - count, member);
    }
  }
  return count;
}

/** `#/a/0` as a path of keys (RFC 6901). */
function toPath(pointer: string): PropertyKey[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value with absent properties set to their `default`: under `properties`, `items` and references, at every level. */
function fillDefaults(root: JsonObject, schema: unknown, value: unknown, depth: number): unknown {
  if (!isObject(schema) || depth > DEFAULTS_DEPTH_MAX) return value;
  const named = typeof schema.$ref === "string" ? resolveRef(root, schema.$ref) : undefined;
  const given = named === undefined ? value : fillDefaults(root, named, value, depth + 1);
  if (Array.isArray(given) && isObject(schema.items)) {
    return given.map((member) => fillDefaults(root, schema.items, member, depth + 1));
  }
  if (!isObject(given) || !isObject(schema.properties)) return given;
  const filled = new Map(Object.entries(given));
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const preset = defaultOf(root, property);
    if (!filled.has(name) && preset !== undefined) filled.set(name, structuredClone(preset));
    if (filled.has(name)) filled.set(name, fillDefaults(root, property, filled.get(name), depth + 1));
  }
  return Object.fromEntries(filled);
}

/** The value without members that JSON would leave out: handlers return `{ unit: undefined }` and mean none. */
function withoutUndefined(value: unknown, depth: number): unknown {
  if (depth > DEFAULTS_DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((member) => withoutUndefined(member, depth + 1));
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutUndefined(member, depth + 1)]));
}

function defaultOf(root: JsonObject, property: JsonObject): unknown {
  if (property.default !== undefined || typeof property.$ref !== "string") return property.default;
  const named = resolveRef(root, property.$ref);
  return isObject(named) ? named.default : undefined;
}
