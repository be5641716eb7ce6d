/**
 * The meaning of a change of one keyword of JSON Schema whose value is not a schema.
 *
 * @module
 * @see https://json-schema.org/draft/2020-12/json-schema-validation
 */
import { quote } from "../core/basics/quote.ts";
import type { Budget } from "./budget.ts";
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
const MINIMA = ["minimum", "exclusiveMinimum"];
/** Minima that are 0 if they are missing. */
const COUNTS = ["minLength", "minItems", "minProperties", "minContains"];
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

/** Describes the change of a keyword, or returns undefined if it has not changed. @throws {ExhaustedError} */
export function compareKeyword(
  keyword: string,
  before: Schema,
  after: Schema,
  budget: Budget,
): KeywordChange | undefined {
  const [old, now] = [own(before, keyword), own(after, keyword)];
  if (old === now || budget.text(old) === budget.text(now)) return undefined;
  if (keyword === "type") return compareTypes(old, now);
  if (MAXIMA.includes(keyword)) return compareBounds(keyword, old, now, Number.POSITIVE_INFINITY, 1);
  if (MINIMA.includes(keyword)) return compareBounds(keyword, old, now, Number.NEGATIVE_INFINITY, -1);
  if (COUNTS.includes(keyword)) return compareBounds(keyword, old, now, 0, -1);
  if (keyword === "multipleOf") return compareMultiples(old, now);
  if (keyword === "uniqueItems" && isFlag(old) && isFlag(now)) return compareFlags("uniqueItems", old, now);
  if (RESTRICTIONS.includes(keyword)) return compareRestrictions(keyword, old, now);
  if (ANNOTATIONS.includes(keyword)) return { effect: "unclear", reason: `its ${keyword} ${verb(old, now)}` };
  return { effect: "unclear", reason: `its keyword ${quote(keyword)} ${verb(old, now)}` };
}

function verb(old: unknown, now: unknown): string {
  if (old === undefined) return "was added";
  return now === undefined ? "was removed" : "has changed";
}

/** The names of the types of JSON Schema. */
export const ALL_TYPES: readonly string[] = ["string", "number", "integer", "boolean", "object", "array", "null"];

function compareTypes(old: unknown, now: unknown): KeywordChange | undefined {
  const [before, after] = [typesOf(old), typesOf(now)];
  const reason = `its type was ${listTypes(old)} and is ${listTypes(now)}`;
  if (![...before, ...after].every((name) => ALL_TYPES.includes(name))) return { effect: "unclear", reason };
  const effect = effectOf(isWithin(after, before), isWithin(before, after));
  return effect === "none" ? undefined : { effect, reason };
}

/**
 * Returns a schema with the types that follow from its values, if it lists values and no types: a type beside an enumeration of values
 * of this type has no effect.
 */
export function withImpliedTypes(schema: Schema): Schema {
  const values = Object.hasOwn(schema, "const") ? [schema.const] : own(schema, "enum");
  if (Object.hasOwn(schema, "type") || !Array.isArray(values)) return schema;
  return { ...schema, type: [...new Set(values.map(typeOf))] };
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
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

/** A change of the permitted values, and the JSON texts of the new ones. */
export interface ValuesChange extends KeywordChange {
  readonly added: readonly string[];
}

/** Describes the change of the permitted values, which `enum` and `const` list. @throws {ExhaustedError} */
export function compareValues(before: Schema, after: Schema, budget: Budget): ValuesChange | undefined {
  const [old, now] = [valuesOf(before, budget), valuesOf(after, budget)];
  if (now === undefined) {
    return old && { effect: "widened", reason: "its list of allowed values was removed", added: [] };
  }
  if (old === undefined) {
    return { effect: "narrowed", reason: `only ${listValues(now)} are allowed now`, added: [...now] };
  }
  const removed = new Set([...old].filter((each) => !now.has(each)));
  const added = new Set([...now].filter((each) => !old.has(each)));
  if (removed.size === 0 && added.size === 0) return undefined;
  const parts = [
    ...(removed.size > 0 ? [`no longer allows ${listValues(removed)}`] : []),
    ...(added.size > 0 ? [`now allows ${listValues(added)}`] : []),
  ];
  const effect = effectOf(added.size === 0, removed.size === 0);
  return { effect, reason: parts.join(" and "), added: [...added] };
}

/** Returns the JSON texts of the values that `const` and `enum` allow; undefined if there is neither. */
export function valuesOf(schema: Schema, budget: Budget): ReadonlySet<string> | undefined {
  const toText = (value: unknown) => budget.text(value);
  const only = Object.hasOwn(schema, "const") ? new Set([toText(schema.const)]) : undefined;
  const values = own(schema, "enum");
  const listed = Array.isArray(values) ? new Set(values.map(toText)) : undefined;
  return only && listed ? new Set([...only].filter((each) => listed.has(each))) : (only ?? listed);
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
  if (old === undefined && typeof now === "number") return { effect: "narrowed", reason };
  if (now === undefined) return { effect: "widened", reason };
  if (typeof old !== "number" || typeof now !== "number" || old === 0 || now === 0)
    return { effect: "unclear", reason };
  return { effect: effectOf(isMultiple(now, old), isMultiple(old, now)), reason };
}

/** Whether a number is a multiple of another number, apart from the rounding of fractions. */
function isMultiple(value: number, of: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(of)) return value % of === 0;
  const ratio = value / of;
  return ratio >= 0.5 && Math.abs(ratio - Math.round(ratio)) < ratio * 1e-12;
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}

function compareFlags(keyword: string, old: unknown, now: unknown): KeywordChange {
  const [before, after] = [old === true, now === true];
  if (before === after) return { effect: "none", reason: `its ${keyword} ${verb(old, now)}, without an effect` };
  return after
    ? { effect: "narrowed", reason: "its items must be unique now" }
    : { effect: "widened", reason: "its items no longer need to be unique" };
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
