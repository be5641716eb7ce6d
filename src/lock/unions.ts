/**
 * The alternatives of `anyOf` and `oneOf`, and the matching of two lists of alternatives.
 *
 * @module
 */

import { printable } from "../core/basics/quote.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { Budget } from "./budget.ts";
import { type Comparison, listOf, mapOf, namesOf } from "./comparison.ts";
import { own } from "./json.ts";
import { ANNOTATIONS, valuesOf } from "./keywords.ts";
import { type Place, within } from "./place.ts";

/** Alternatives of a schema. */
export interface Union {
  readonly alternatives: readonly unknown[];
  /** Whether a value must match exactly one alternative (`oneOf`), instead of at least one (`anyOf`). */
  readonly isExclusive: boolean;
}

/** Returns the alternatives of a schema that consists of nothing else, or undefined. A list of types counts as one. */
export function unionOf(schema: JsonObject): Union | undefined {
  const keywords = Object.keys(schema).filter((keyword) => !ANNOTATIONS.includes(keyword));
  const [keyword = ""] = keywords;
  const value = own(schema, keyword);
  if (keywords.length !== 1 || !Array.isArray(value)) return undefined;
  if (keyword === "anyOf" || keyword === "oneOf") return { alternatives: value, isExclusive: keyword === "oneOf" };
  return keyword === "type" ? { alternatives: value.map((type) => ({ type })), isExclusive: false } : undefined;
}

/** Compares two lists of alternatives. */
export function compareUnions(comparison: Comparison, before: Union, after: Union, place: Place): void {
  // Where no value can match two alternatives, oneOf means the same as anyOf.
  const wasExclusive = before.isExclusive && !areDisjoint(comparison, before.alternatives, "before");
  const isExclusive = after.isExclusive && !areDisjoint(comparison, after.alternatives, "after");
  if (isExclusive && !wasExclusive) {
    comparison.effect("narrowed", place, "must match exactly one of its alternatives now, not at least one");
  } else if (wasExclusive && !isExclusive) {
    comparison.effect("widened", place, "may match several of its alternatives now");
  }
  const at = wasExclusive && isExclusive ? { ...place, isExclusive: true } : place;
  const { pairs, removed, added } = pair(before.alternatives, after.alternatives, comparison.budget);
  for (const [old, now] of pairs) comparison.compare(old, now, within(at, ""));
  for (const each of removed) {
    comparison.effect("narrowed", at, `no longer allows ${describe(each, comparison.budget)}`);
  }
  for (const each of added) {
    comparison.effect("widened", at, `now also allows ${describe(each, comparison.budget)}`, each);
  }
}

/** Whether no value can match two of the alternatives, as far as their types, values and constant members show. */
function areDisjoint(comparison: Comparison, alternatives: readonly unknown[], side: "before" | "after"): boolean {
  const { budget } = comparison;
  const facts = alternatives.map((each) => toFacts(comparison.resolved(each, side), budget));
  return facts.every((one, at) =>
    facts.slice(at + 1).every((other) => {
      budget.charge();
      return differ(one, other);
    }),
  );
}

/** What distinguishes an alternative from others. */
interface Facts {
  readonly types: ReadonlySet<string> | undefined;
  readonly values: ReadonlySet<string> | undefined;
  /** The permitted values of required properties, if the alternative is an object. */
  readonly constants: ReadonlyMap<string, ReadonlySet<string>>;
}

function toFacts(schema: unknown, budget: Budget): Facts {
  if (!isObject(schema)) return { types: undefined, values: undefined, constants: new Map() };
  const { type } = schema;
  const names = type === undefined ? undefined : namesOf(Array.isArray(type) ? type : [type]);
  const types = names && new Set([...names].map((name) => (name === "integer" ? "number" : name)));
  const constants = new Map<string, ReadonlySet<string>>();
  if (type === "object") {
    const properties = mapOf(schema.properties);
    budget.charge(listOf(schema.required).length + properties.size);
    for (const name of namesOf(schema.required)) {
      const property = properties.get(name);
      const values = isObject(property) ? valuesOf(property, budget) : undefined;
      if (values) constants.set(name, values);
    }
  }
  return { types, values: valuesOf(schema, budget), constants };
}

function differ(one: Facts, other: Facts): boolean {
  if (haveNothingInCommon(one.types, other.types) || haveNothingInCommon(one.values, other.values)) return true;
  return [...one.constants].some(([name, values]) => haveNothingInCommon(values, other.constants.get(name)));
}

function haveNothingInCommon(one: ReadonlySet<string> | undefined, other: ReadonlySet<string> | undefined): boolean {
  return one !== undefined && other !== undefined && ![...one].some((each) => other.has(each));
}

function describe(schema: unknown, budget: Budget): string {
  const text = printable(budget.text(isObject(schema) ? withoutAnnotations(schema) : schema));
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

/** Returns a schema without what only models and people read. */
export function withoutAnnotations(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.includes(keyword)));
}

/** The result of matching two lists of alternatives: the pairs, and the remaining alternatives. */
export interface Paired {
  readonly pairs: readonly (readonly [before: unknown, after: unknown])[];
  readonly removed: readonly unknown[];
  readonly added: readonly unknown[];
}

/**
 * Pairs equal alternatives first, then those that are equal apart from annotations, and then those that have the same type and the
 * same constant members.
 *
 * @throws {ExhaustedError}
 */
export function pair(before: readonly unknown[], after: readonly unknown[], budget: Budget): Paired {
  const toText = (schema: unknown) => budget.text(schema);
  const toBareText = (schema: unknown) => budget.text(isObject(schema) ? withoutAnnotations(schema) : schema);
  const toSignature = (schema: unknown) => budget.text(signatureOf(schema));
  const pairs: (readonly [unknown, unknown])[] = [];
  let [removed, added] = [before, after];
  for (const keyOf of [toText, toBareText, toSignature]) {
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

function signatureOf(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const members = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const constants = members.flatMap(([name, each]) =>
    isObject(each) && Object.hasOwn(each, "const") ? [[name, each.const]] : [],
  );
  const { type, $ref, const: value } = schema;
  return [type ?? null, $ref !== undefined, value ?? null, constants];
}
