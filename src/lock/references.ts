/**
 * References within one schema. References to other documents are never followed.
 *
 * @module
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { ANNOTATIONS } from "./keywords.ts";
import { findTarget } from "./schema-pointer.ts";

/** The maximum number of references that lead directly to one another. @limit internal */
const HOPS_MAX = 16;

/**
 * Returns a schema with its `$ref` replaced by the members of the target. Texts beside `$ref` take precedence. If a keyword is in both,
 * the target becomes a condition in `allOf`. A reference that cannot be followed is kept.
 */
export function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let resolved = schema;
  for (let hop = 0; hop < HOPS_MAX; hop += 1) {
    const { $ref: reference, ...rest } = resolved;
    if (typeof reference !== "string") return resolved;
    const target = findTarget(reference, root);
    if (!isObject(target)) return resolved;
    resolved = merge(target, rest);
  }
  return schema;
}

function merge(target: JsonObject, rest: JsonObject): JsonObject {
  const isInBoth = Object.keys(rest).some((name) => Object.hasOwn(target, name) && !ANNOTATIONS.includes(name));
  if (!isInBoth) return { ...target, ...rest };
  return { ...rest, allOf: [target, ...(Array.isArray(rest.allOf) ? rest.allOf : [])] };
}
