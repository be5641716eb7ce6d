/**
 * The shape of a value: its structure and the types of its values, without the values.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { describeText, isName } from "./words.ts";

/** The maximum number of described elements and members, and the maximum depth. */
const [ELEMENTS_MAX, DEPTH_MAX] = [20, 24];

/** The maximum length of a member name, in characters. Longer names may be data, such as the keys of a map. */
const MEMBER_MAX = 32;

/** Returns the shape of a JSON value: `{ city: "<text, 4 characters>" }`. */
export function shapeOf(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return describeText(value);
  if (typeof value === "number" || typeof value === "bigint") return "<number>";
  if (typeof value === "boolean") return "<boolean>";
  if (value === null || value === undefined) return null;
  if (depth >= DEPTH_MAX) return "<nested deeper>";
  if (Array.isArray(value)) {
    const shown = value.slice(0, ELEMENTS_MAX).map((each) => shapeOf(each, depth + 1));
    return value.length > ELEMENTS_MAX ? [...shown, `<${value.length - ELEMENTS_MAX} more>`] : shown;
  }
  if (!isObject(value)) return "<value>";
  const entries = Object.entries(value);
  const shown = entries
    .slice(0, ELEMENTS_MAX)
    .map(([name, member], index) => [toMember(name, index), shapeOf(member, depth + 1)] as const);
  const more = entries.length - ELEMENTS_MAX;
  return Object.fromEntries(more > 0 ? [...shown, ["…", `<${more} more>`]] : shown);
}

/** Returns the name of a member, or a placeholder with its number if the name may be data. */
export function toMember(name: string, index: number): string {
  return name.length <= MEMBER_MAX && isName(name) && !name.includes(" ") ? name : `<member ${index + 1}>`;
}

/** Returns whether a value, or a value in it, was replaced by its shape. */
export function isReplaced(value: unknown): boolean {
  if (typeof value === "string")
    return /^<(text, \d+ characters?|number|boolean|value|nested deeper|\d+ more|bytes, \d+)>$/.test(value);
  if (Array.isArray(value)) return value.some(isReplaced);
  return (
    isObject(value) && Object.entries(value).some(([name, member]) => name.startsWith("<member ") || isReplaced(member))
  );
}
