/**
 * mcp-edge/json-schema: raw JSON Schema as `input` or `output`. Validates by interpreting, so it works where
 * `new Function` is refused, as on Workers.
 *
 * @module
 */
import { Validator } from "@cfworker/json-schema";
import { KitError } from "../core/errors.ts";
import { isObject, type JsonObject } from "../core/jsonrpc.ts";
import type { SchemaIssue, SchemaResult, StandardJsonSchema, StandardSchema } from "../core/schema.ts";

/** Names the handler type beside a raw schema: what is said here is trusted, not inferred. */
export type JsonSchemaOf<T> = StandardSchema<T, T> & StandardJsonSchema;

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
export function jsonSchema<T = unknown>(schema: JsonObject | Readonly<Record<string, unknown>>): JsonSchemaOf<T> {
  const dialect = typeof schema.$schema === "string" ? schema.$schema.replace(/#$/, "") : Object.keys(DRAFTS)[0];
  const draft = DRAFTS[dialect ?? ""];
  if (!draft) {
    throw new KitError(
      "schema-unsupported",
      `JSON Schema dialect ${schema.$schema} is not supported. Supported: ${Object.keys(DRAFTS).join(", ")}.`,
    );
  }
  refuseForeignRefs(schema);
  const validator = new Validator(schema, draft, false);
  const show = () => schema as Record<string, unknown>;
  return {
    "~standard": {
      version: 1,
      vendor: "mcp-edge",
      validate: (value) => check(validator, fillDefaults(schema, value)) as SchemaResult<T>,
      jsonSchema: { input: show, output: show },
    },
  };
}

function check(validator: Validator, value: unknown): SchemaResult<unknown> {
  const { valid, errors } = validator.validate(value);
  if (valid) return { value };
  // The validator reports each failing keyword and then its parents; the deepest say what is wrong.
  const deepest = Math.max(...errors.map(({ instanceLocation }) => instanceLocation.length));
  const leaves = errors.filter(({ instanceLocation }) => instanceLocation.length === deepest);
  return {
    issues: leaves.map(
      ({ instanceLocation, error }): SchemaIssue => ({ message: error, path: toPath(instanceLocation) }),
    ),
  };
}

/** `#/a/0` as a path of keys (RFC 6901). */
function toPath(pointer: string): PropertyKey[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value with absent properties of `properties` set to their `default`, at every level of plain objects. */
function fillDefaults(schema: unknown, value: unknown): unknown {
  if (!isObject(schema) || !isObject(schema.properties) || !isObject(value)) return value;
  const filled: JsonObject = { ...value };
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    if (!Object.hasOwn(filled, name) && property.default !== undefined)
      filled[name] = structuredClone(property.default);
    if (Object.hasOwn(filled, name)) filled[name] = fillDefaults(property, filled[name]);
  }
  return filled;
}

function refuseForeignRefs(schema: unknown): void {
  if (Array.isArray(schema)) for (const member of schema) refuseForeignRefs(member);
  if (!isObject(schema)) return;
  if (typeof schema.$ref === "string" && /^[a-z][a-z0-9+.-]*:/i.test(schema.$ref)) {
    throw new KitError("schema-unsupported", `$ref ${schema.$ref} leaves the document; put what it names under $defs.`);
  }
  for (const member of Object.values(schema)) refuseForeignRefs(member);
}
