/**
 * Compares two versions of a JSON Schema: whether values that were valid still are, or the reverse for results.
 *
 * Both schemas may be hostile, so the number of visited schemas and their depth are limited, and references are followed only within
 * a document.
 *
 * @module
 */
import { printable } from "../core/basics/quote.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { InnerChange, Severity } from "./changes.ts";
import { isSame, own, toSortedText } from "./json.ts";
import { ANNOTATIONS, compareKeyword, compareValues, type Effect } from "./keywords.ts";
import { resolve } from "./references.ts";
import { alternativesOf, pair, withoutAnnotations } from "./unions.ts";

/** Whether a schema describes arguments, which callers write, or results, which callers read. */
export type Direction = "input" | "output";

/** The maximum depth of schemas in each other, with references. @limit internal */
const LEVELS_MAX = 48;
/** The maximum number of schemas and names that one comparison visits. @limit internal */
const SCHEMAS_MAX = 100_000;
/** The maximum number of characters of a place. @limit internal */
const PATH_CHARS_MAX = 200;

/** Keywords that the comparison handles together, or follows into other schemas. */
const STRUCTURAL: ReadonlySet<string> = new Set([
  "$ref",
  "$defs",
  "definitions",
  "properties",
  "patternProperties",
  "required",
  "enum",
  "const",
  "anyOf",
  "oneOf",
  "allOf",
  "prefixItems",
  "not",
]);
/** Keywords whose value is a schema for members or items. */
const INNER: Readonly<Record<string, string>> = {
  additionalProperties: ".*",
  unevaluatedProperties: ".*",
  propertyNames: " (names of members)",
  items: "[]",
  additionalItems: "[]",
  unevaluatedItems: "[]",
  contains: " (an item)",
};

/** A position in both schemas. */
interface Place {
  readonly path: string;
  readonly level: number;
  /** Whether the position is below a `not`, where narrowing means widening. */
  readonly isNegated: boolean;
}

/** The work that comparisons may still do together. */
export class Budget {
  schemas = SCHEMAS_MAX;
}

/**
 * Returns the changes between two versions of a schema. If the schemas differ in any way, at least one change is returned.
 *
 * @param direction For `input`, allowing less breaks callers; for `output`, allowing more does.
 * @param budget Shared by the comparisons of one contract.
 * @throws {DepthError} if a schema is nested more than 64 levels deep.
 */
export function compareSchemas(
  before: JsonObject,
  after: JsonObject,
  direction: Direction,
  budget: Budget = new Budget(),
): InnerChange[] {
  if (isSame(before, after)) return [];
  const comparison = new SchemaComparison(before, after, direction, budget);
  comparison.compare(before, after, { path: direction, level: 0, isNegated: false });
  const { changes } = comparison;
  if (changes.length > 0) return changes;
  return [
    { severity: "review", path: direction, reason: "is written differently, but no difference in meaning was found" },
  ];
}

class SchemaComparison {
  readonly changes: InnerChange[] = [];
  readonly #before: JsonObject;
  readonly #after: JsonObject;
  readonly #direction: Direction;
  readonly #budget: Budget;
  /** The pairs of references that were followed, so that recursive schemas end. */
  readonly #followed = new Set<string>();

  constructor(before: JsonObject, after: JsonObject, direction: Direction, budget: Budget) {
    this.#before = before;
    this.#after = after;
    this.#direction = direction;
    this.#budget = budget;
  }

  /** Compares two schemas, each an object or a boolean. */
  compare(before: unknown, after: unknown, place: Place): void {
    this.#budget.schemas -= 1;
    if (place.level > LEVELS_MAX || this.#budget.schemas < 0) {
      // Not to be able to compare must not look like no change.
      if (this.changes.at(-1)?.reason !== TOO_LARGE) this.#report("breaking", place, TOO_LARGE);
      return;
    }
    if (before === false || after === false) {
      if (before !== after) this.#effect(after === false ? "narrowed" : "widened", place, falseReason(after));
      return;
    }
    const [old, now] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
    // What is beside a reference can differ although the reference was followed before.
    if (this.#isFollowed(old.$ref, now.$ref, place.isNegated))
      this.#compareObjects(withoutReference(old), withoutReference(now), place);
    else this.#compareObjects(resolve(old, this.#before), resolve(now, this.#after), place);
  }

  #compareObjects(before: JsonObject, after: JsonObject, place: Place): void {
    const [old, now] = [alternativesOf(before), alternativesOf(after)];
    if (!this.#isUnionOfBoth(old, now, before, after)) {
      this.#compareMembers(before, after, place);
      return;
    }
    for (const keyword of ANNOTATIONS) this.#keyword(keyword, before, after, place);
    this.#alternatives(old ?? [withoutAnnotations(before)], now ?? [withoutAnnotations(after)], place);
  }

  /** Whether to compare as alternatives: both are, or one of them is and the other one restricts values too. */
  #isUnionOfBoth(
    old: readonly unknown[] | undefined,
    now: readonly unknown[] | undefined,
    before: JsonObject,
    after: JsonObject,
  ): boolean {
    if (old && now) return !(Array.isArray(before.type) && Array.isArray(after.type));
    if (old) return !Array.isArray(before.type) && Object.keys(withoutAnnotations(after)).length > 0;
    if (now) return !Array.isArray(after.type) && Object.keys(withoutAnnotations(before)).length > 0;
    return false;
  }

  #compareMembers(before: JsonObject, after: JsonObject, place: Place): void {
    const values = compareValues(before, after);
    if (values) this.#effect(values.effect, place, values.reason);
    for (const keyword of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (Object.hasOwn(INNER, keyword)) this.#inner(keyword, before, after, place);
      else if (!STRUCTURAL.has(keyword)) this.#keyword(keyword, before, after, place);
    }
    // A reference is still here only if it could not be followed.
    this.#keyword("$ref", before, after, place);
    this.#properties(before, after, place);
    this.#required(before, after, place);
    this.#patternProperties(before, after, place);
    this.#prefixItems(before, after, place);
    this.#combined(before, after, place);
  }

  #keyword(keyword: string, before: JsonObject, after: JsonObject, place: Place): void {
    const change = compareKeyword(keyword, before, after);
    if (change) this.#effect(change.effect, place, change.reason);
  }

  #properties(before: JsonObject, after: JsonObject, place: Place): void {
    const [old, now] = [mapOf(before.properties), mapOf(after.properties)];
    const isRequired = new Set(listOf(after.required));
    this.#budget.schemas -= now.size + isRequired.size;
    for (const [name, schema] of old) {
      const at = within(place, `.${shown(name)}`);
      if (now.has(name)) this.compare(schema, now.get(name), at);
      else this.#removedProperty(isClosed(after), at);
    }
    for (const name of now.keys()) {
      if (!old.has(name)) this.#addedProperty(isRequired.has(name), isClosed(before), within(place, `.${shown(name)}`));
    }
  }

  #removedProperty(isClosedNow: boolean, place: Place): void {
    if (place.isNegated) this.#report("review", place, "was removed");
    else if (this.#direction === "output") this.#report("breaking", place, "was removed");
    else if (isClosedNow) this.#report("breaking", place, "was removed, and the server refuses unknown arguments");
    else this.#report("review", place, "was removed, so the server may ignore it");
  }

  #addedProperty(isRequired: boolean, wasClosed: boolean, place: Place): void {
    if (place.isNegated) this.#report("review", place, "was added");
    else if (this.#direction === "output") {
      if (wasClosed) this.#report("review", place, "was added, where the old schema allowed no other members");
      else this.#report("compatible", place, "was added");
    } else if (isRequired) this.#report("breaking", place, "was added and is required");
    else this.#report("compatible", place, "was added and is optional");
  }

  #required(before: JsonObject, after: JsonObject, place: Place): void {
    const [old, now] = [new Set(listOf(before.required)), new Set(listOf(after.required))];
    const [known, current] = [mapOf(before.properties), mapOf(after.properties)];
    for (const name of now) {
      // A property that was added is already reported.
      const isAdded = current.has(name) && !known.has(name);
      if (!old.has(name) && !isAdded) this.#effect("narrowed", within(place, `.${shown(name)}`), "is now required");
    }
    for (const name of old) {
      const isRemoved = known.has(name) && !current.has(name);
      if (!now.has(name) && !isRemoved)
        this.#effect("widened", within(place, `.${shown(name)}`), "is no longer required");
    }
  }

  #patternProperties(before: JsonObject, after: JsonObject, place: Place): void {
    const [old, now] = [mapOf(before.patternProperties), mapOf(after.patternProperties)];
    for (const pattern of new Set([...old.keys(), ...now.keys()])) {
      const at = within(place, `.(names like ${shown(pattern)})`);
      if (!old.has(pattern)) this.#effect("narrowed", at, "is restricted now");
      else if (!now.has(pattern)) this.#effect("widened", at, "is no longer restricted");
      else this.compare(old.get(pattern), now.get(pattern), at);
    }
  }

  #prefixItems(before: JsonObject, after: JsonObject, place: Place): void {
    const [old, now] = [arrayOf(before.prefixItems), arrayOf(after.prefixItems)];
    for (let at = 0; at < Math.max(old.length, now.length) && this.#budget.schemas >= 0; at += 1) {
      this.compare(old[at] ?? before.items ?? true, now[at] ?? after.items ?? true, within(place, `[${at}]`));
    }
  }

  /** Compares a schema for members or items. Without it, everything is allowed. */
  #inner(keyword: string, before: JsonObject, after: JsonObject, place: Place): void {
    const [old, now] = [before[keyword], after[keyword]];
    const at = within(place, INNER[keyword] ?? "");
    // Draft 7: a list of schemas for the first items.
    if (Array.isArray(old) || Array.isArray(now)) this.#keyword(keyword, before, after, place);
    else if (isAnything(old) && isAnything(now)) return;
    else if (isAnything(old) && now !== false) this.#effect("narrowed", at, "is restricted now");
    else if (isAnything(now) && old !== false) this.#effect("widened", at, "is no longer restricted");
    else this.compare(old, now, at);
  }

  #combined(before: JsonObject, after: JsonObject, place: Place): void {
    for (const keyword of ["anyOf", "oneOf"]) {
      const [old, now] = [before[keyword], after[keyword]];
      if (Array.isArray(old) && Array.isArray(now)) this.#alternatives(old, now, place);
      else if (Array.isArray(now)) this.#effect("narrowed", place, "must match one of several alternatives now");
      else if (Array.isArray(old))
        this.#effect("widened", place, "need not match one of several alternatives any more");
    }
    const { pairs, removed, added } = pair(arrayOf(before.allOf), arrayOf(after.allOf));
    for (const [old, now] of pairs) this.compare(old, now, within(place, ""));
    if (added.length > 0) this.#effect("narrowed", place, "must satisfy more conditions now");
    if (removed.length > 0) this.#effect("widened", place, "must satisfy fewer conditions now");
    const negated = { ...within(place, " (excluded)"), isNegated: !place.isNegated };
    if (before.not !== undefined && after.not !== undefined) this.compare(before.not, after.not, negated);
    else if (after.not !== undefined) this.#effect("narrowed", place, "excludes more values now");
    else if (before.not !== undefined) this.#effect("widened", place, "excludes fewer values now");
  }

  #alternatives(before: readonly unknown[], after: readonly unknown[], place: Place): void {
    const { pairs, removed, added } = pair(before, after);
    for (const [old, now] of pairs) this.compare(old, now, within(place, ""));
    for (const each of removed) this.#effect("narrowed", place, `no longer allows ${describe(each)}`);
    for (const each of added) this.#effect("widened", place, `now also allows ${describe(each)}`);
  }

  #isFollowed(old: unknown, now: unknown, isNegated: boolean): boolean {
    if (typeof old !== "string" || typeof now !== "string") return false;
    const key = JSON.stringify([old, now, isNegated]);
    const isKnown = this.#followed.has(key);
    this.#followed.add(key);
    return isKnown;
  }

  #effect(effect: Effect, place: Place, reason: string): void {
    this.#report(severityOf(place.isNegated ? NEGATED[effect] : effect, this.#direction), place, reason);
  }

  #report(severity: Severity, { path }: Place, reason: string): void {
    this.changes.push({ severity, path, reason });
  }
}

const TOO_LARGE = "is too large to be compared, so it counts as breaking";

const NEGATED: Readonly<Record<Effect, Effect>> = {
  narrowed: "widened",
  widened: "narrowed",
  conflicting: "conflicting",
  unclear: "unclear",
  none: "none",
};

function severityOf(effect: Effect, direction: Direction): Severity {
  if (effect === "conflicting") return "breaking";
  if (effect === "unclear") return "review";
  if (effect === "none") return "compatible";
  return (effect === "narrowed") === (direction === "input") ? "breaking" : "compatible";
}

function falseReason(after: unknown): string {
  return after === false ? "is not allowed any more" : "is allowed now";
}

function within({ path, level, isNegated }: Place, step: string): Place {
  const longer = `${path}${step}`;
  return { path: longer.length > PATH_CHARS_MAX ? path : longer, level: level + 1, isNegated };
}

/** Returns a name in a place: as it is if it is simple, and as JSON otherwise. */
function shown(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : printable(JSON.stringify(name.slice(0, 64)));
}

function withoutReference({ $ref: _, ...rest }: JsonObject): JsonObject {
  return rest;
}

function describe(schema: unknown): string {
  const text = printable(toSortedText(isObject(schema) ? withoutAnnotations(schema) : schema));
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

function isClosed(schema: JsonObject): boolean {
  return schema.additionalProperties === false || schema.unevaluatedProperties === false;
}

function isAnything(schema: unknown): boolean {
  return schema === undefined || schema === true || (isObject(schema) && Object.keys(schema).length === 0);
}

function mapOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(isObject(value) ? Object.keys(value).map((name) => [name, own(value, name)]) : []);
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
