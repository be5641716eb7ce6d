/**
 * mcp-edge/json-schema: plain JSON Schema as `input` or `output`. The validator interprets the schema, so it works on
 * Workers, where `new Function` is not allowed.
 *
 * @module
 */
import { validate } from "@cfworker/json-schema";
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { SchemaIssue, SchemaResult, StandardJsonSchema, StandardSchema } from "../core/protocol/schema.ts";
import { prepareSchema, referredBy, type SchemaDocument } from "./document.ts";

/** A schema with a type for the handler. The author declares the type; it is not inferred from the schema. */
export type JsonSchemaOf<T> = StandardSchema<T, T> & StandardJsonSchema;

/**
 * Wraps a JSON Schema (2020-12 unless `$schema` says 2019-09 or draft-07). Clients receive it unchanged, with every
 * keyword. The `default` values of absent properties are filled in before validation. A `$ref` to another document is
 * never fetched.
 *
 * @typeParam T The type of the value that the handler receives. The schema must guarantee it.
 * @throws {KitError} `schema-unsupported` if the dialect is not one of these; a `$ref` leads to another document or to
 *   nothing, or a dynamic reference to several targets; an `$id` is not a URI; or two different schemas have the same
 *   `$id` or anchor.
 * @see MCP 2026-07-28, basic, "JSON Schema Usage"
 */
export function jsonSchema<T = unknown>(schema: Readonly<Record<string, unknown>>): JsonSchemaOf<T> {
  const document = prepare(schema);
  const show = () => schema as Record<string, unknown>;
  return {
    "~standard": {
      version: 1,
      vendor: "mcp-edge",
      validate: (value) =>
        check(document, fillDefaults(document, document.root, withoutUndefined(value, 0), 0)) as SchemaResult<T>,
      jsonSchema: { input: show, output: show },
    },
  };
}

function prepare(schema: JsonObject): SchemaDocument {
  try {
    return prepareSchema(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new KitError("schema-unsupported", `A JSON Schema cannot be used: ${why}.`, { cause });
  }
}

/**
 * The largest number of nested values for which all issues are reported. The validator creates an error object for each
 * issue.
 * @limit internal
 */
const THOROUGH_MAX = 10_000;
/**
 * The nesting depth up to which defaults are filled in, because a schema may refer to itself.
 * @limit count Levels of arguments and of `$ref` in which defaults of a JSON Schema are filled in. Deeper defaults are not filled in.
 */
const DEFAULTS_DEPTH_MAX = 64;

/**
 * Keywords that only repeat the issues of other keywords. The validator reports "additionalProperties: false" under the
 * keyword `false`.
 */
const WRAPPERS = new Set([
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

function check({ root, dialect, schemas }: SchemaDocument, value: unknown): SchemaResult<unknown> {
  // The validator accepts only JSON values.
  if (value === undefined) return { issues: [{ message: "there is no value" }] };
  const isLarge = countUpTo(THOROUGH_MAX, value) > THOROUGH_MAX;
  const { valid, errors } = validate(value, root, dialect, schemas, isLarge);
  if (valid) return { value };
  const causes = errors.filter(({ keyword }) => !WRAPPERS.has(keyword));
  const issues = (causes.length > 0 ? causes : errors).map(
    ({ instanceLocation, error }): SchemaIssue => ({ message: error, path: toPath(instanceLocation) }),
  );
  return { issues: isLarge ? [...issues, { message: "the value is too large to report more issues" }] : issues };
}

/** Returns the number of nested values, including the value itself. Stops counting soon after `max`. */
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

/** Returns the path of keys of a JSON Pointer such as `#/a/0` (RFC 6901). */
function toPath(pointer: string): PropertyKey[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * Returns the value with absent properties set to their `default`. Follows `properties`, `items` and `$ref` at every
 * level.
 */
function fillDefaults(document: SchemaDocument, schema: unknown, value: unknown, depth: number): unknown {
  if (!isObject(schema) || depth > DEFAULTS_DEPTH_MAX) return value;
  const named = referredBy(document.schemas, schema);
  const given = named === undefined ? value : fillDefaults(document, named, value, depth + 1);
  if (Array.isArray(given) && isObject(schema.items)) {
    return given.map((member) => fillDefaults(document, schema.items, member, depth + 1));
  }
  if (!isObject(given) || !isObject(schema.properties)) return given;
  const filled = new Map(Object.entries(given));
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const preset = findDefault(document, property);
    if (!filled.has(name) && preset !== undefined) filled.set(name, structuredClone(preset));
    if (filled.has(name)) filled.set(name, fillDefaults(document, property, filled.get(name), depth + 1));
  }
  return Object.fromEntries(filled);
}

/** Returns the value without undefined members, which JSON omits: a handler may return `{ unit: undefined }`. */
function withoutUndefined(value: unknown, depth: number): unknown {
  if (depth > DEFAULTS_DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((member) => withoutUndefined(member, depth + 1));
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutUndefined(member, depth + 1)]));
}

function findDefault(document: SchemaDocument, property: JsonObject): unknown {
  if (property.default !== undefined) return property.default;
  const named = referredBy(document.schemas, property);
  return isObject(named) ? named.default : undefined;
}
