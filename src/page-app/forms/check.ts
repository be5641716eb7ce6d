/**
 * Compares a value with its schema, so that a form can say what is missing before anything is sent. The server has the last word: keywords
 * that are not listed here are left to it.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { SchemaReader } from "./schema.ts";
import type { Path } from "./values.ts";

/** What is wrong with a value. */
export interface Mistake {
  readonly path: Path;
  readonly text: string;
}

/** The depth to which values are checked. */
const DEPTH_MAX = 32;

/** Returns the mistakes of a value. */
export function check(reader: SchemaReader, given: unknown, value: unknown, path: Path = []): readonly Mistake[] {
  if (path.length > DEPTH_MAX) return [];
  const schema = reader.resolve(given);
  if (value === null && Array.isArray(schema.type) && schema.type.includes("null")) return [];
  const field = reader.read(given);
  const at = (text: string): Mistake[] => [{ path, text }];
  switch (field.kind) {
    case "object":
      return isObject(value) ? checkMembers(reader, schema, value, path) : at("Must be an object.");
    case "list":
    case "choices":
      return Array.isArray(value) ? checkItems(reader, schema, value, path) : at("Must be a list.");
    case "choice":
      return field.choices.some((choice) => isSame(choice.value, value)) ? [] : at("Choose one of the values.");
    case "variants": {
      const found = field.variants.map((variant) => check(reader, variant.schema, value, path));
      return found.find((mistakes) => mistakes.length === 0) ?? found.toSorted((a, b) => a.length - b.length)[0] ?? [];
    }
    case "number":
      return checkNumber(schema, value, field.isInteger).flatMap(at);
    case "boolean":
      return typeof value === "boolean" ? [] : at("Must be true or false.");
    case "text":
    case "file":
      return checkText(schema, value).flatMap(at);
    default:
      return [];
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function checkMembers(reader: SchemaReader, schema: JsonObject, value: JsonObject, path: Path): readonly Mistake[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => ({ path: [...path, name], text: "Required." }));
  const present = Object.keys(properties).filter((name) => Object.hasOwn(value, name));
  return [...missing, ...present.flatMap((name) => check(reader, properties[name], value[name], [...path, name]))];
}

function checkItems(
  reader: SchemaReader,
  schema: JsonObject,
  value: readonly unknown[],
  path: Path,
): readonly Mistake[] {
  const { minItems, maxItems, uniqueItems, items } = schema;
  const own = [
    typeof minItems === "number" && value.length < minItems && `At least ${minItems} needed.`,
    typeof maxItems === "number" && value.length > maxItems && `At most ${maxItems} allowed.`,
    uniqueItems === true &&
      new Set(value.map((each) => JSON.stringify(each))).size < value.length &&
      "Has an item twice.",
  ].filter((text) => text !== false);
  return [
    ...own.map((text) => ({ path, text })),
    ...value.flatMap((item, at) => check(reader, items, item, [...path, at])),
  ];
}

function checkNumber(
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonObject,
  value: unknown,
  isInteger: boolean,
): string[] {
  if (typeof value !== "number") return ["Must be a number."];
  const problems = [
    isInteger && !Number.isInteger(value) && "Must be a whole number.",
    typeof minimum === "number" && value < minimum && `Must be at least ${minimum}.`,
    typeof maximum === "number" && value > maximum && `Must be at most ${maximum}.`,
    typeof exclusiveMinimum === "number" && value <= exclusiveMinimum && `Must be more than ${exclusiveMinimum}.`,
    typeof exclusiveMaximum === "number" && value >= exclusiveMaximum && `Must be less than ${exclusiveMaximum}.`,
    typeof multipleOf === "number" &&
      multipleOf > 0 &&
      !isMultiple(value, multipleOf) &&
      `Must be a multiple of ${multipleOf}.`,
  ];
  return problems.filter((text) => text !== false);
}

function isMultiple(value: number, of: number): boolean {
  const times = value / of;
  return Math.abs(times - Math.round(times)) < 1e-9;
}

function checkText({ minLength, maxLength, pattern }: JsonObject, value: unknown): string[] {
  if (typeof value !== "string") return ["Must be text."];
  const { length } = [...value];
  const problems = [
    typeof minLength === "number" && length < minLength && `At least ${minLength} characters needed.`,
    typeof maxLength === "number" && length > maxLength && `At most ${maxLength} characters allowed.`,
    typeof pattern === "string" && !fits(pattern, value) && `Must match ${pattern}.`,
  ];
  return problems.filter((text) => text !== false);
}

/** The length of a text that is tried with a pattern of a server, which may be slow on purpose. */
const TRIED_MAX = 200;

function fits(pattern: string, value: string): boolean {
  if (value.length > TRIED_MAX) return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    // A pattern that this engine does not know is left to the server.
    return true;
  }
}
