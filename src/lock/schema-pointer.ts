import { isObject } from "../core/protocol/jsonrpc.ts";

/**
 * Returns the value at a reference within a JSON Schema, such as `#/$defs/Node`; undefined if there is none. References to other documents
 * are not followed.
 */
export function findTarget(reference: string, root: unknown): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(key)];
    else if (isObject(at) && Object.hasOwn(at, key)) at = at[key];
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
