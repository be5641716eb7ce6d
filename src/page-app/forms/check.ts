/**
 * Checks a value against its schema, so that a form can report missing values and wrong types before it is sent. Ranges,
 * lengths and patterns are not checked, so that developers see the errors of the server.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { SchemaReader } from "./schema.ts";
import type { Path } from "./values.ts";

/** An error in a value. */
export interface Mistake {
  readonly path: Path;
  readonly text: string;
}

/** The maximum depth to which values are checked. */
const DEPTH_MAX = 32;

/** Returns the errors in a value. */
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
      return Array.isArray(value)
        ? value.flatMap((item, index) => check(reader, schema.items, item, [...path, index]))
        : at("Must be a list.");
    case "choice":
      return field.choices.some((choice) => isSame(choice.value, value)) ? [] : at("Choose one of the values.");
    case "variants": {
      const found = field.variants.map((variant) => check(reader, variant.schema, value, path));
      return found.find((mistakes) => mistakes.length === 0) ?? found.toSorted((a, b) => a.length - b.length)[0] ?? [];
    }
    case "number":
      if (typeof value !== "number") return at("Must be a number.");
      return field.isInteger && !Number.isInteger(value) ? at("Must be a whole number.") : [];
    case "boolean":
      return typeof value === "boolean" ? [] : at("Must be true or false.");
    case "text":
    case "file":
      return typeof value === "string" ? [] : at("Must be text.");
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
