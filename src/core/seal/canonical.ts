/**
 * A canonical form of JSON values, for comparing and hashing.
 *
 * @module
 */
import { isObject } from "../protocol/jsonrpc.ts";

/** Returns the value with the members of each object sorted; arrays and objects stay distinct. */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return ["list", ...value.map(canonical)];
  if (!isObject(value)) return value;
  return [
    "object",
    ...Object.keys(value)
      .sort()
      .map((key) => [key, canonical(value[key])]),
  ];
}
