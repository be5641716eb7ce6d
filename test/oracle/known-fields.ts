/**
 * Finds properties that a version does not have. The specification's schemas accept any additional property, so they
 * cannot detect that a server sent `title` to a client of 2025-03-26. This compares a value with its definition and
 * returns the properties that the definition does not have.
 */

import { isJson, type Json, type Spec, schemaAt, step } from "./spec.ts";

/** Open by design: the content belongs to its author. */
const OPEN = new Set(["_meta", "experimental", "extensions", "inputSchema", "outputSchema", "structuredContent"]);

/** Additions of an extension to definitions of the versions it extends: tasks can be listened to. */
const BY_EXTENSION: Readonly<Record<string, readonly string[]>> = {
  "#/$defs/SubscriptionFilter": ["taskIds"],
};

/** Returns each property of `value` that the definition at `pointer` does not have. */
export function unknownFields(spec: Spec, pointer: string, value: unknown, path = ""): string[] {
  const found = schemaAt(spec, pointer);
  if (found === undefined) return [];
  const { schema, pointer: at } = found;
  if (Array.isArray(schema.anyOf)) return inUnion(spec, step(at, "anyOf"), schema.anyOf, value, path);
  if (Array.isArray(value)) {
    if (!isJson(schema.items)) return [];
    return value.flatMap((item, index) => unknownFields(spec, step(at, "items"), item, `${path}/${index}`));
  }
  if (!isJson(value)) return [];
  return inObject(spec, at, schema, value, path);
}

function inObject(spec: Spec, at: string, schema: Json, value: Json, path: string): string[] {
  const properties = isJson(schema.properties) ? schema.properties : undefined;
  const rest = schema.additionalProperties;
  return Object.keys(value).flatMap((key) => {
    const here = `${path}/${key}`;
    if (properties !== undefined && Object.hasOwn(properties, key)) {
      return OPEN.has(key) ? [] : unknownFields(spec, step(at, "properties", key), value[key], here);
    }
    if (BY_EXTENSION[at]?.includes(key)) return [];
    if (isJson(rest)) return unknownFields(spec, step(at, "additionalProperties"), value[key], here);
    // A schema without properties (`{ "type": "object" }`) is open.
    if (properties === undefined || rest === true) return [];
    return [`${here} is not a property ${ownerOf(at)}has in ${spec.version}`];
  });
}

/** Compares a value with the branches that match best: the valid ones, else those with a matching `type`. */
function inUnion(spec: Spec, at: string, branches: unknown[], value: unknown, path: string): string[] {
  const pointers = branches.map((_, index) => step(at, String(index)));
  const kind = isJson(value) ? value.type : undefined;
  const kinds = pointers.map((pointer) => kindOf(spec, pointer));
  if (typeof kind === "string" && kinds.every((each) => each !== undefined) && !kinds.includes(kind)) {
    return [`${path}/type ${JSON.stringify(kind)} does not exist in ${spec.version} (${kinds.join(", ")})`];
  }
  const meant = pointers.filter((_, index) => kinds[index] === undefined || kinds[index] === kind);
  const valid = meant.filter((pointer) => spec.validate(pointer, value).length === 0);
  const candidates = valid.length > 0 ? valid : meant;
  const results = candidates.map((pointer) => unknownFields(spec, pointer, value, path));
  return results.sort((a, b) => a.length - b.length)[0] ?? [];
}

/** The `type` that a branch requires. */
function kindOf(spec: Spec, pointer: string): string | undefined {
  const properties = schemaAt(spec, pointer)?.schema.properties;
  const type = isJson(properties) ? properties.type : undefined;
  return isJson(type) && typeof type.const === "string" ? type.const : undefined;
}

function ownerOf(pointer: string): string {
  const [, , name, ...inner] = pointer.split("/");
  const last = inner.filter((part) => part !== "properties" && part !== "items").join(".");
  return `${name}${last === "" ? "" : `.${last}`} `;
}
