/**
 * The values of a form: JSON in which undefined means that a member is not sent.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { SchemaReader } from "./schema.ts";

/** The path of a value: names of members, and indexes of lists. */
export type Path = readonly (string | number)[];

/** The maximum depth to which required objects are created, because a schema may contain itself. */
const DEPTH_MAX = 8;

/** Returns the initial value of a form: defaults, and required objects with their defaults. */
export function initialValue(reader: SchemaReader, schema: unknown, isRequired = true, depth = 0): unknown {
  const field = reader.read(schema);
  if (field.kind === "constant") return isRequired ? field.preset : undefined;
  if (field.preset !== undefined) return structuredClone(field.preset);
  if (!isRequired || depth > DEPTH_MAX) return undefined;
  switch (field.kind) {
    case "object": {
      const members = field.members.map(({ name, schema, isRequired }) => {
        return [name, initialValue(reader, schema, isRequired, depth + 1)] as const;
      });
      return Object.fromEntries(members.filter(([, value]) => value !== undefined));
    }
    case "boolean":
      return false;
    case "list":
    case "choices":
      return [];
    case "variants":
      return initialValue(reader, field.variants[0]?.schema, isRequired, depth + 1);
    default:
      return undefined;
  }
}

/** Returns the value at a path. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((found, key) => {
    if (Array.isArray(found)) return found[key as number];
    return isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }, value);
}

/** Returns a copy with another value at a path. Undefined removes the member or the list item. */
export function withValue(value: unknown, path: Path, changed: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return changed;
  if (typeof key === "number") {
    const list = Array.isArray(value) ? [...value] : [];
    const next = withValue(list[key], rest, changed);
    if (next === undefined) list.splice(key, 1);
    else list[key] = next;
    return list;
  }
  const { [key]: before, ...others } = isObject(value) ? value : ({} as JsonObject);
  const next = withValue(before, rest, changed);
  if (next === undefined) return others;
  return isObject(value) && Object.hasOwn(value, key) ? { ...value, [key]: next } : { ...others, [key]: next };
}

/** Returns the arguments that a form sends. */
export function toArguments(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
