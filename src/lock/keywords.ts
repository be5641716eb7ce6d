/**
 * The meaning of a change of one keyword of JSON Schema whose value is not a schema.
 *
 * @module
 * @see https://json-schema.org/draft/2020-12/json-schema-validation
 */
import { quote } from "../core/basics/quote.ts";
import { own, toSortedText } from "./json.ts";

/**
 * How a schema has changed: it allows less, it allows more, both, something else may have changed, or nothing that a program
 * notices.
 */
export type Effect = "narrowed" | "widened" | "conflicting" | "unclear" | "none";

/** The effect of a changed keyword, and a reason such as `its minimum was raised from 1 to 2`. */
export interface KeywordChange {
  readonly effect: Effect;
  readonly reason: string;
}

type Schema = Readonly<Record<string, unknown>>;

const MAXIMA = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"];
const MINIMA = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"];
/** Keywords that restrict a value, and whose values cannot be compared with each other. */
const RESTRICTIONS = ["pattern", "format", "contentEncoding", "contentMediaType"];
/** Keywords that only models and people read. */
export const ANNOTATIONS: readonly string[] = [
  "title",
  "description",
  "$comment",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
];

/** The maximum number of values of an enumeration that a reason lists. @limit internal */
const LISTED_MAX = 5;

/** Describes the change of a keyword, or returns undefined if it has not changed. */
export function compareKeyword(keyword: string, before: Schema, after: Schema): KeywordChange | undefined {
  const [old, now] = [own(before, keyword), own(after, keyword)];
  if (old === now || toSortedText(old) === toSortedText(now)) return undefined;
  if (keyword === "type") return compareTypes(old, now);
  if (MAXIMA.includes(keyword)) return compareBounds(keyword, old, now, Number.POSITIVE_INFINITY, 1);
  if (MINIMA.includes(keyword)) return compareBounds(keyword, old, now, Number.NEGATIVE_INFINITY, -1);
  if (keyword === "multipleOf") return compareMultiples(old, now);
  if (keyword === "uniqueItems") return compareFlags("uniqueItems", old, now);
  if (RESTRICTIONS.includes(keyword)) return compareRestrictions(keyword, old, now);
  if (ANNOTATIONS.includes(keyword)) return { effect: "unclear", reason: `its ${keyword} ${verb(old, now)}` };
  return { effect: "unclear", reason: `its keyword ${quote(keyword)} ${verb(old, now)}` };
}

function verb(old: unknown, now: unknown): string {
  if (old === undefined) return "was added";
  return now === undefined ? "was removed" : "has changed";
}

const ALL_TYPES: readonly string[] = ["string", "number", "integer", "boolean", "object", "array", "null"];

function compareTypes(old: unknown, now: unknown): KeywordChange {
  const [before, after] = [typesOf(old), typesOf(now)];
  const effect = effectOf(isWithin(after, before), isWithin(before, after));
  return { effect, reason: `its type was ${listTypes(old)} and is ${listTypes(now)}` };
}

function typesOf(type: unknown): ReadonlySet<string> {
  const names = type === undefined ? ALL_TYPES : Array.isArray(type) ? type.map(String) : [String(type)];
  // Every integer is a number.
  return new Set(names.includes("number") ? [...names, "integer"] : names);
}

function listTypes(type: unknown): string {
  if (type === undefined) return "any";
  return Array.isArray(type) ? type.slice(0, ALL_TYPES.length).map(show).join(" or ") : show(type);
}

/** Describes the change of the permitted values, which `enum` and `const` list. */
export function compareValues(before: Schema, after: Schema): KeywordChange | undefined {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  if (old === undefined && now === undefined) return undefined;
  if (old === undefined) return { effect: "narrowed", reason: `only ${listValues(now ?? new Set())} are allowed now` };
  if (now === undefined) return { effect: "widened", reason: "its list of allowed values was removed" };
  const removed = new Set([...old].filter((each) => !now.has(each)));
  const added = new Set([...now].filter((each) => !old.has(each)));
  if (removed.size === 0 && added.size === 0) return undefined;
  const parts = [
    ...(removed.size > 0 ? [`no longer allows ${listValues(removed)}`] : []),
    ...(added.size > 0 ? [`now allows ${listValues(added)}`] : []),
  ];
  return { effect: effectOf(added.size === 0, removed.size === 0), reason: parts.join(" and ") };
}

function valuesOf(schema: Schema): ReadonlySet<string> | undefined {
  if (Object.hasOwn(schema, "const")) return new Set([toSortedText(schema.const)]);
  const listed = own(schema, "enum");
  return Array.isArray(listed) ? new Set(listed.map(toSortedText)) : undefined;
}

function listValues(values: ReadonlySet<string>): string {
  const shown = [...values].slice(0, LISTED_MAX).map((each) => quoteJson(each));
  const more = values.size - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}

/** @param sign 1 for a maximum, -1 for a minimum. */
function compareBounds(keyword: string, old: unknown, now: unknown, none: number, sign: 1 | -1): KeywordChange {
  const [before, after] = [old ?? none, now ?? none];
  // In draft 4, exclusiveMaximum is boolean.
  if (typeof before !== "number" || typeof after !== "number")
    return { effect: "unclear", reason: `its ${keyword} ${verb(old, now)}` };
  if (before === after) return { effect: "none", reason: `its ${keyword} ${verb(old, now)}, without an effect` };
  const effect = (after - before) * sign < 0 ? "narrowed" : "widened";
  if (old === undefined) return { effect, reason: `its ${keyword} is ${show(now)} now` };
  if (now === undefined) return { effect, reason: `its ${keyword} ${show(old)} was removed` };
  const change = after < before ? "lowered" : "raised";
  return { effect, reason: `its ${keyword} was ${change} from ${show(old)} to ${show(now)}` };
}

function compareMultiples(old: unknown, now: unknown): KeywordChange {
  const reason = `its multipleOf was ${show(old)} and is ${show(now)}`;
  if (old === undefined) return { effect: "narrowed", reason };
  if (now === undefined) return { effect: "widened", reason };
  if (typeof old !== "number" || typeof now !== "number" || old === 0 || now === 0)
    return { effect: "unclear", reason };
  return { effect: effectOf(now % old === 0, old % now === 0), reason };
}

function compareFlags(keyword: string, old: unknown, now: unknown): KeywordChange {
  const [before, after] = [old === true, now === true];
  if (before === after) return { effect: "none", reason: `its ${keyword} ${verb(old, now)}, without an effect` };
  return after
    ? { effect: "narrowed", reason: "its items must be unique now" }
    : { effect: "widened", reason: "its items need not be unique any more" };
}

function compareRestrictions(keyword: string, old: unknown, now: unknown): KeywordChange {
  if (old === undefined) return { effect: "narrowed", reason: `it must match the ${keyword} ${show(now)} now` };
  if (now === undefined) return { effect: "widened", reason: `its ${keyword} was removed` };
  return { effect: "unclear", reason: `its ${keyword} was ${show(old)} and is ${show(now)}` };
}

function isWithin(inner: ReadonlySet<string>, outer: ReadonlySet<string>): boolean {
  return [...inner].every((each) => outer.has(each));
}

function effectOf(isSubset: boolean, isSuperset: boolean): Effect {
  if (isSubset && isSuperset) return "none";
  if (isSubset) return "narrowed";
  return isSuperset ? "widened" : "conflicting";
}

function show(value: unknown): string {
  return typeof value === "string" ? quote(value) : value === undefined ? "absent" : quoteJson(toSortedText(value));
}

/** Shortens a JSON text. Strings keep their quotation marks. */
function quoteJson(json: string): string {
  return quote(json).slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\");
}
