import { isObject } from "../../core/protocol/jsonrpc.ts";

/** Returns the schema at a reference such as `#/$defs/Node`, or undefined. References to other documents are not followed. */
export function toTarget(reference: string, root: unknown): unknown {
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
    return text;
  }
}
