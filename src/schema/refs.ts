/**
 * Resolves `$ref` within one document, and refuses references to other documents.
 *
 * @module
 */
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";

/** Keywords whose value maps names to schemas. The names are not keywords. */
const MAPS: readonly string[] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/** Keywords whose value is data, not a schema. */
const DATA: readonly string[] = ["const", "enum", "default", "examples"];

/** Visits every schema in a document. */
function visit(schema: unknown, see: (schema: JsonObject) => void): void {
  if (Array.isArray(schema)) for (const member of schema) visit(member, see);
  if (!isObject(schema)) return;
  see(schema);
  for (const [keyword, value] of Object.entries(schema)) {
    if (DATA.includes(keyword)) continue;
    if (MAPS.includes(keyword) && isObject(value)) for (const member of Object.values(value)) visit(member, see);
    else visit(value, see);
  }
}

/**
 * Refuses a document with references to other documents, or with references that do not resolve. Other documents are
 * never fetched, so such a reference would fail at the first call.
 *
 * @throws {KitError} `schema-unsupported` naming the reference, or the two anchors of a schema.
 * @see MCP 2026-07-28, basic, "$ref Resolution"
 */
export function checkRefs(root: JsonObject): void {
  visit(root, (schema) => {
    if (schema.$anchor !== undefined && schema.$dynamicAnchor !== undefined) {
      throw new KitError("schema-unsupported", "A schema has both $anchor and $dynamicAnchor. Remove one of them.");
    }
    for (const keyword of ["$ref", "$dynamicRef"] as const) {
      const ref = schema[keyword];
      if (typeof ref !== "string") continue;
      if (!ref.startsWith("#")) {
        throw new KitError(
          "schema-unsupported",
          `${keyword} ${ref} refers to another document. Copy that schema into $defs.`,
        );
      }
      if (resolveRef(root, ref) === undefined) {
        throw new KitError("schema-unsupported", `${keyword} ${ref} does not resolve in the document.`);
      }
    }
  });
}

/**
 * Returns a copy for the validator, which does not know dynamic references. They become plain references, which have the same meaning
 * within one document.
 */
export function withPlainRefs(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withPlainRefs);
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (DATA.includes(keyword)) return [keyword, value];
    if (keyword === "$dynamicAnchor") return ["$anchor", value];
    if (!MAPS.includes(keyword) || !isObject(value)) return [keyword, withPlainRefs(value)];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withPlainRefs(each)]))];
  });
  if (typeof schema.$dynamicRef !== "string") return Object.fromEntries(members);
  // Beside a $ref of its own, the reference needs a schema of its own.
  const { $dynamicRef, allOf, ...rest } = Object.fromEntries(members);
  return { ...rest, allOf: [...(Array.isArray(allOf) ? allOf : []), { $ref: $dynamicRef }] };
}

/** Returns the value that a reference within the document refers to, by JSON Pointer (RFC 6901) or anchor. */
export function resolveRef(root: JsonObject, ref: string): unknown {
  const fragment = decodeURIComponent(ref.slice(1));
  if (fragment === "") return root;
  if (!fragment.startsWith("/")) return findAnchor(root, fragment);
  let value: unknown = root;
  for (const step of fragment.slice(1).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    value =
      (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
  }
  return value;
}

function findAnchor(root: JsonObject, name: string): unknown {
  let found: unknown;
  visit(root, (schema) => {
    if (schema.$anchor === name || schema.$dynamicAnchor === name || schema.$id === `#${name}`) found ??= schema;
  });
  return found;
}
