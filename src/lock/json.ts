/**
 * JSON in a form that does not depend on the order of members, so that two values can be compared as strings.
 *
 * @module
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";

/** The maximum nesting depth of a definition. Deeper ones are refused. @limit internal */
export const DEPTH_MAX = 64;

/** Thrown inside this room when a value is nested too deeply. */
export class DepthError extends Error {
  override readonly name = "DepthError";
}

/**
 * Returns a copy of a JSON value in which the members of all objects are sorted by name.
 *
 * @throws {DepthError} if it is nested more than {@link DEPTH_MAX} levels deep.
 */
export function sorted(value: unknown, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new DepthError(`it is nested more than ${DEPTH_MAX} levels deep`);
  if (Array.isArray(value)) return value.map((each) => sorted(each, depth + 1));
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort(byCodeUnit);
  // fromEntries creates own members, including for the name "__proto__".
  return Object.fromEntries(names.map((name) => [name, sorted(value[name], depth + 1)]));
}

/** The levels that a comparison may add to a definition, when it puts the target of a reference into a condition. */
const LEVELS_ADDED = 8;

/** Returns the sorted JSON text of a value; an empty string for undefined. @throws {DepthError} */
export function toSortedText(value: unknown): string {
  return JSON.stringify(sorted(value, -LEVELS_ADDED)) ?? "";
}

/** Whether two JSON values are equal, apart from the order of members. @throws {DepthError} */
export function isSame(one: unknown, other: unknown): boolean {
  return one === other || toSortedText(one) === toSortedText(other);
}

/** Orders strings independently of the language of the machine. */
export function byCodeUnit(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Returns an own member of an object; undefined for an inherited member, such as `constructor`. */
export function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
