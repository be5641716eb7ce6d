/**
 * Prepares JSON Schemas for the validator, which modifies the schemas that it gets, does not know dynamic references, and would apply
 * keywords of other dialects.
 *
 * @module
 * @see MCP 2026-07-28, basic, "JSON Schema Usage"
 */
import { dereference } from "@cfworker/json-schema";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";

/** The dialects that the validator knows, by their URI in `$schema`. */
const DIALECTS = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "https://json-schema.org/draft/2019-09/schema": "2019-09",
  "http://json-schema.org/draft-07/schema": "7",
} as const;

/** A dialect, as the validator names it. */
type Dialect = (typeof DIALECTS)[keyof typeof DIALECTS];

/** A schema that the validator can use. */
export interface SchemaDocument {
  readonly dialect: Dialect;
  /** The copy that the validator gets. */
  readonly root: JsonObject;
  /** Every schema in the copy, by its absolute URI. */
  readonly schemas: Readonly<Record<string, JsonObject | boolean>>;
}

/** Keywords whose value maps names to schemas. The names are not keywords. */
const MAPS: readonly string[] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/** Keywords whose value is data, not a schema. */
const DATA: readonly string[] = ["const", "enum", "default", "required", "dependentRequired"];
/**
 * Keywords that are left out, except in the dialect that has them: the validator would apply them in every dialect, or read examples as
 * schemas.
 */
const ONLY_IN: Readonly<Record<string, Dialect | "none">> = {
  id: "none",
  examples: "none",
  $recursiveRef: "2019-09",
  $dynamicRef: "2020-12",
};

/**
 * Prepares a schema of 2020-12 (the default), 2019-09 or draft-07. Its references must not leave it, because other documents are never
 * fetched.
 *
 * @param see Is called for every value of the schema with its depth. It may throw, to limit both.
 * @throws {Error} naming a dialect that is not supported, a reference to another document or to nothing, or two anchors of one schema.
 */
export function prepareSchema(schema: JsonObject, see: (depth: number) => void = () => {}): SchemaDocument {
  const dialect = dialectOf(schema);
  const root = copy(schema, "schema", 0) as JsonObject;
  const schemas = dereference(root) as SchemaDocument["schemas"];
  for (const each of Object.values(schemas)) {
    if (isObject(each) && each.$ref !== undefined && referredBy(schemas, each) === undefined) {
      const reference = JSON.stringify(each.$ref);
      throw new Error(`the reference ${reference} is not in the schema, and other documents are not fetched`);
    }
  }
  return { dialect, root, schemas };

  function copy(value: unknown, kind: "schema" | "named schemas" | "data", depth: number): unknown {
    see(depth);
    if (Array.isArray(value)) return value.map((member) => copy(member, kind, depth + 1));
    if (!isObject(value)) return value;
    const members = Object.entries(value).flatMap(([key, member]) => {
      if (kind !== "schema") return [[key, copy(member, kind === "data" ? "data" : "schema", depth + 1)]];
      if (Object.hasOwn(ONLY_IN, key) && ONLY_IN[key] !== dialect) return [];
      const kindOfMember = DATA.includes(key) ? "data" : MAPS.includes(key) ? "named schemas" : "schema";
      return [[key, copy(member, kindOfMember, depth + 1)]];
    });
    const copied = Object.fromEntries(members) as JsonObject;
    return kind === "schema" ? withPlainReferences(copied) : copied;
  }
}

function dialectOf({ $schema = "https://json-schema.org/draft/2020-12/schema" }: JsonObject): Dialect {
  const uri = String($schema).replace(/#$/, "");
  if (Object.hasOwn(DIALECTS, uri)) return DIALECTS[uri as keyof typeof DIALECTS];
  const supported = Object.keys(DIALECTS).join(", ");
  throw new Error(`its dialect ${JSON.stringify($schema)} is not supported. Supported: ${supported}`);
}

/**
 * Makes dynamic and recursive references plain. That changes their meaning only if schemas with an `$id` of their own extend each other:
 * such a reference would then take the outermost anchor.
 */
function withPlainReferences(schema: JsonObject): JsonObject {
  const { $dynamicRef, $dynamicAnchor, $recursiveRef, ...plain } = schema;
  if ($dynamicAnchor !== undefined) {
    if (plain.$anchor !== undefined) throw new Error("a schema has both $anchor and $dynamicAnchor");
    plain.$anchor = $dynamicAnchor;
  }
  const $ref = $dynamicRef ?? $recursiveRef;
  if ($ref === undefined) return plain;
  // A schema can also have a $ref of its own, so this one is in a schema of its own.
  return { ...plain, allOf: [...(Array.isArray(plain.allOf) ? plain.allOf : []), { $ref }] };
}

/** Returns the schema in the document to which a schema refers, or undefined if it refers to none. */
export function referredBy(schemas: SchemaDocument["schemas"], schema: JsonObject): JsonObject | boolean | undefined {
  // The validator stores the absolute URI of the reference here. The record of schemas has no prototype.
  return schemas[String(schema.__absolute_ref__)];
}
