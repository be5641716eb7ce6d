/**
 * One spelling for each JSON value, for comparing and hashing.
 *
 * @module
 */
import { isObject } from "../protocol/jsonrpc.ts";

/** The value with the members of each object in one order; arrays and objects stay apart. */
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
