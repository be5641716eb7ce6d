/**
 * mcp-edge/json-schema: plain JSON Schema as `input` or `output`. The validator interprets the schema, so it works on
 * Workers, where `new Function` is not allowed.
 *
 * @module
 */
import { Validator } from "@cfworker/json-schema";
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { SchemaIssue, SchemaResult, StandardJsonSchema, StandardSchema } from "../core/protocol/schema.ts";
import { checkRefs, resolveRef, withPlainRefs } from "./refs.ts";

/** A schema with a type for the handler. The author declares the type; it is not inferred from the schema. */
export type JsonSchemaOf<T> = StandardSchema<T, T> & StandardJsonSchema;

const DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema";

const DRAFTS: Readonly<Record<string, "2020-12" | "2019-09" | "7">> = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "https://json-schema.org/draft/2019-09/schema": "2019-09",
  "http://json-schema.org/draft-07/schema": "7",
};

/**
 * Wraps a JSON Schema (2020-12 unless `$schema` says 2019-09 or draft-07). Clients receive it unchanged, with every
 * keyword. The `default` values of absent properties are filled in before validation. A `$ref` to another document is
 * never fetched.
 *
 * @typeParam T The type of the value that the handler receives. The schema must guarantee it.
 * @throws {KitError} `schema-unsupported` if the dialect is not one of these, or a `$ref` refers to another document or
 *   does not resolve.
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
  // Older dialects have no dynamic references.
  const known = (draft === "2020-12" ? withPlainRefs(schema) : schema) as Record<string, unknown>;
  const validators = { thorough: new Validator(known, draft, false), quick: new Validator(known, draft, true) };
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

/**
 * The largest number of nested values for which all issues are reported. The validator creates an error object for each
 * issue.
 * @limit internal
 */
const THOROUGH_MAX = 10_000;
/**
 * The nesting depth up to which defaults are filled in, because a schema may refer to itself.
 * @limit count Levels of arguments in which defaults of a JSON Schema are filled in. Deeper defaults are not filled in.
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

interface Validators {
  /** Reports every issue. */
  readonly thorough: Validator;
  /** Stops at the first issue. */
  readonly quick: Validator;
}

function check({ thorough, quick }: Validators, value: unknown): SchemaResult<unknown> {
  // The validator accepts only JSON values.
  if (value === undefined) return { issues: [{ message: "there is no value" }] };
  const isLarge = countUpTo(THOROUGH_MAX, value) > THOROUGH_MAX;
  const { valid, errors } = (isLarge ? quick : thorough).validate(value);
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
    const preset = findDefault(root, property);
    if (!filled.has(name) && preset !== undefined) filled.set(name, structuredClone(preset));
    if (filled.has(name)) filled.set(name, fillDefaults(root, property, filled.get(name), depth + 1));
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

function findDefault(root: JsonObject, property: JsonObject): unknown {
  if (property.default !== undefined || typeof property.$ref !== "string") return property.default;
  const named = resolveRef(root, property.$ref);
  return isObject(named) ? named.default : undefined;
}
