/**
 * Compares what two schemas allow for the members of objects.
 *
 * A member with a name is restricted by `properties`, by each entry of `patternProperties` whose pattern matches the name, and, if there
 * is neither, by `additionalProperties`. Patterns are not evaluated, because they may be hostile.
 *
 * @module
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { type Comparison, isAnything, mapOf, namesOf, plain } from "./comparison.ts";
import { atMember, type Place, shown, within } from "./place.ts";

/** Compares `properties`, `patternProperties` and `required`. */
export function compareProperties(comparison: Comparison, before: JsonObject, after: JsonObject, place: Place): void {
  const [old, now] = [mapOf(before.properties), mapOf(after.properties)];
  const required = namesOf(after.required);
  comparison.budget.charge(old.size + now.size + required.size);
  for (const [name, schema] of old) {
    const at = atMember(place, name);
    if (now.has(name)) comparison.compare(schema, now.get(name), at);
    else compareRemoved(comparison, schema, after, at);
  }
  for (const [name, schema] of now) {
    if (!old.has(name)) compareAdded(comparison, { [name]: schema }, before, required.has(name), atMember(place, name));
  }
  compareRequired(comparison, before, after, place);
  comparePatterns(comparison, before, after, place);
}

function compareRemoved(comparison: Comparison, schema: unknown, after: JsonObject, place: Place): void {
  if (place.isNegated) comparison.report("review", place, "was removed");
  else if (comparison.direction === "output") comparison.report("breaking", place, "was removed");
  else if (isClosed(after)) {
    comparison.report("breaking", place, "was removed, and the server refuses unknown arguments");
  } else {
    comparison.report("review", place, "was removed, so the server may ignore it");
    if (!isAnything(after.additionalProperties)) comparison.compare(schema, after.additionalProperties, place);
  }
}

/** @param added The name of the property with its schema. */
function compareAdded(
  comparison: Comparison,
  added: JsonObject,
  before: JsonObject,
  isRequired: boolean,
  place: Place,
): void {
  const isInput = comparison.direction === "input";
  const [schema] = Object.values(added);
  const others = plain(before.additionalProperties);
  if (place.isNegated) comparison.report("review", place, "was added");
  else if (isInput && isRequired) comparison.report("breaking", place, "was added and is required");
  else if (!isInput && isClosed(before)) {
    comparison.report("review", place, "was added, where the old schema allowed no other members");
  } else if (isInput && plain(schema) === false && others !== false) {
    comparison.effect("narrowed", place, "is no longer allowed");
  } else {
    // Members with this name may have been allowed as additional ones, or as ones that match a pattern.
    if (others !== false && !isAnything(others)) comparison.compare(others, schema, place);
    if (isInput && mapOf(before.patternProperties).size > 0 && !isAnything(schema)) {
      comparison.effect("unclear", place, "was added, and may match a pattern of the old schema");
    }
    comparison.report("compatible", place, isInput ? "was added and is optional" : "was added", added);
  }
}

function compareRequired(comparison: Comparison, before: JsonObject, after: JsonObject, place: Place): void {
  const [old, now] = [namesOf(before.required), namesOf(after.required)];
  const [known, current] = [mapOf(before.properties), mapOf(after.properties)];
  for (const name of now) {
    // A property that was added is already reported.
    const isAdded = current.has(name) && !known.has(name);
    if (!old.has(name) && !isAdded)
      comparison.effect("narrowed", atMember(place, name), "is now required", { [name]: 0 });
  }
  for (const name of old) {
    const isRemoved = known.has(name) && !current.has(name);
    if (!now.has(name) && !isRemoved) comparison.effect("widened", atMember(place, name), "is no longer required");
  }
}

function comparePatterns(comparison: Comparison, before: JsonObject, after: JsonObject, place: Place): void {
  const [old, now] = [mapOf(before.patternProperties), mapOf(after.patternProperties)];
  comparison.budget.charge(old.size + now.size);
  for (const pattern of new Set([...old.keys(), ...now.keys()])) {
    const at = within(place, `.(names like ${shown(pattern)})`);
    if (old.has(pattern) && now.has(pattern)) comparison.compare(old.get(pattern), now.get(pattern), at);
    else if (now.has(pattern)) compareAddedPattern(comparison, { [pattern]: now.get(pattern) }, before, after, at);
    else compareRemovedPattern(comparison, old.get(pattern), before, after, at);
  }
}

function compareAddedPattern(
  comparison: Comparison,
  added: JsonObject,
  before: JsonObject,
  after: JsonObject,
  place: Place,
): void {
  const [schema] = Object.values(added);
  const others = before.additionalProperties;
  if (!isAnything(others)) {
    comparison.compare(others, schema, place);
    if (!isAnything(schema) && hasOthers(before, after)) comparison.effect("unclear", place, MAY_MATCH);
  } else if (!isAnything(schema)) comparison.effect("narrowed", place, "is restricted now", added);
  comparison.effect("none", place, "was added", added);
}

function compareRemovedPattern(
  comparison: Comparison,
  schema: unknown,
  before: JsonObject,
  after: JsonObject,
  place: Place,
): void {
  const others = after.additionalProperties;
  if (!isAnything(others)) {
    comparison.compare(schema, others, place);
    if (!isAnything(schema) && hasOthers(before, after)) comparison.effect("unclear", place, MAY_MATCH);
  } else comparison.effect(isAnything(schema) ? "none" : "widened", place, "is no longer restricted");
}

const MAY_MATCH = "may match the names of other members, which is not compared";

/** Whether a name can be in `properties` or match another pattern. */
function hasOthers(before: JsonObject, after: JsonObject): boolean {
  const maps = [before, after].flatMap((each) => [mapOf(each.properties), mapOf(each.patternProperties)]);
  return maps.reduce((count, { size }) => count + size, 0) > 1;
}

function isClosed(schema: JsonObject): boolean {
  return plain(schema.additionalProperties) === false || plain(schema.unevaluatedProperties) === false;
}
