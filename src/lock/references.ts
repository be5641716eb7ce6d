/**
 * References within one schema. References to other documents are never followed.
 *
 * @module
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { own } from "./json.ts";

/** The maximum number of references that lead directly to one another. @limit internal */
const HOPS_MAX = 16;

/**
 * Returns a schema with its `$ref` replaced by the members of the target. Members beside `$ref` take precedence. A reference that
 * cannot be followed is kept.
 */
export function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let resolved = schema;
  for (let hop = 0; hop < HOPS_MAX; hop += 1) {
    const { $ref: reference, ...rest } = resolved;
    if (typeof reference !== "string") return resolved;
    const target = findTarget(reference, root);
    if (!isObject(target)) return resolved;
    resolved = { ...target, ...rest };
  }
  return schema;
}

/** Returns the value at a reference such as `#/$defs/Node`; undefined if there is none. */
function findTarget(reference: string, root: JsonObject): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(key)];
    else if (isObject(at)) at = own(at, key);
    else return undefined;
  }
  return at;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that is not part of an escape is literal.
    return text;
  }
}
