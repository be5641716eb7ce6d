/**
 * The alternatives of `anyOf` and `oneOf`, and which of two lists of alternatives belong together.
 *
 * @module
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { own, toSortedText } from "./json.ts";
import { ANNOTATIONS } from "./keywords.ts";

/** Returns the alternatives of a schema that consists of nothing else, or undefined. A list of types counts as one. */
export function alternativesOf(schema: JsonObject): readonly unknown[] | undefined {
  const keywords = Object.keys(schema).filter((keyword) => !ANNOTATIONS.includes(keyword));
  const [keyword = ""] = keywords;
  const value = own(schema, keyword);
  if (keywords.length !== 1 || !Array.isArray(value)) return undefined;
  if (keyword === "anyOf" || keyword === "oneOf") return value;
  return keyword === "type" ? value.map((type) => ({ type })) : undefined;
}

/** Returns a schema without what only models and people read. */
export function withoutAnnotations(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.includes(keyword)));
}

/** Two lists of alternatives: those that belong together, and the others. */
export interface Paired {
  readonly pairs: readonly (readonly [before: unknown, after: unknown])[];
  readonly removed: readonly unknown[];
  readonly added: readonly unknown[];
}

/** Pairs equal alternatives first, and then those that have the same type and the same constant members. */
export function pair(before: readonly unknown[], after: readonly unknown[]): Paired {
  const pairs: (readonly [unknown, unknown])[] = [];
  let [removed, added] = [before, after];
  for (const keyOf of [toSortedText, toBareText, toSignature]) {
    const waiting = groupByKey(added, keyOf);
    const left: unknown[] = [];
    for (const each of removed) {
      const found = waiting.get(keyOf(each));
      if (found && found.length > 0) pairs.push([each, found.pop()]);
      else left.push(each);
    }
    removed = left;
    added = [...waiting.values()].flat();
  }
  return { pairs, removed, added };
}

/** Groups alternatives by their key. Each group is in reverse order, so that pop() returns the first one. */
function groupByKey(items: readonly unknown[], keyOf: (item: unknown) => string): Map<string, unknown[]> {
  const groups = new Map<string, unknown[]>();
  for (const each of [...items].reverse()) {
    const key = keyOf(each);
    const group = groups.get(key);
    if (group) group.push(each);
    else groups.set(key, [each]);
  }
  return groups;
}

function toBareText(schema: unknown): string {
  return toSortedText(isObject(schema) ? withoutAnnotations(schema) : schema);
}

function toSignature(schema: unknown): string {
  if (!isObject(schema)) return toSortedText(schema);
  const members = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const constants = members.flatMap(([name, each]) =>
    isObject(each) && Object.hasOwn(each, "const") ? [[name, each.const]] : [],
  );
  const { type, $ref, const: value } = schema;
  return toSortedText([type ?? null, $ref ?? null, value ?? null, constants]);
}
