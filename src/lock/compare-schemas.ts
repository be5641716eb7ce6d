/**
 * Compares two versions of a JSON Schema: whether values that were valid still are, or the reverse for results.
 *
 * Both schemas may be hostile, so the work and the depth are limited, and references are followed only within a document. A difference
 * that is not understood is reported as one to review: every keyword that differs is compared, and definitions that are not compared
 * through a reference are reported at the end.
 *
 * @module
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { Budget, ExhaustedError } from "./budget.ts";
import { CHANGES_MAX, type InnerChange, type Severity } from "./changes.ts";
import { type Comparison, type Direction, isAnything, listOf, mapOf, plain } from "./comparison.ts";
import { compareContains, comparePrefixItems } from "./items.ts";
import { isSame } from "./json.ts";
import { ANNOTATIONS, compareKeyword, compareValues, type Effect, withImpliedTypes } from "./keywords.ts";
import { atMember, type Place, within } from "./place.ts";
import { compareProperties } from "./properties.ts";
import { follow, wrap } from "./references.ts";
import { hasNewText } from "./texts.ts";
import { compareUnions, pair, unionOf, withoutAnnotations } from "./unions.ts";

/** The maximum nesting depth of schemas, including references. @limit internal */
const LEVELS_MAX = 48;

const isList = Array.isArray;
const isNumber = (value: unknown) => typeof value === "number";
const isNames = (value: unknown) => isList(value) && value.every((each) => typeof each === "string");

/** Keywords that the comparison handles together, or follows into other schemas, with a check of their value. */
const STRUCTURAL: Readonly<Record<string, (value: unknown) => boolean>> = {
  $ref: (value) => typeof value === "string",
  $defs: isObject,
  definitions: isObject,
  properties: isObject,
  patternProperties: isObject,
  required: isNames,
  enum: isList,
  const: () => true,
  type: (value) => typeof value === "string" || isNames(value),
  anyOf: isList,
  oneOf: isList,
  allOf: isList,
  prefixItems: isList,
  contains: () => true,
  minContains: isNumber,
  maxContains: isNumber,
  not: () => true,
};
/** Keywords whose value is a schema for members or items. */
const INNER: Readonly<Record<string, string>> = {
  additionalProperties: ".*",
  unevaluatedProperties: ".*",
  propertyNames: " (names of members)",
  items: "[]",
  additionalItems: "[]",
  unevaluatedItems: "[]",
};

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
  const changes = comparison.run();
  if (changes.length > 0) return changes;
  return [
    { severity: "review", path: direction, reason: "is written differently, but no difference in meaning was found" },
  ];
}

class SchemaComparison implements Comparison {
  readonly direction: Direction;
  readonly budget: Budget;
  readonly #changes: InnerChange[] = [];
  readonly #before: JsonObject;
  readonly #after: JsonObject;
  /** The pairs of targets of references that were compared, so that recursive schemas end. */
  readonly #compared = new Set<string>();
  readonly #ids = new Map<JsonObject, number>();
  /** The targets of references that were followed. */
  readonly #reached = { before: new Set<unknown>(), after: new Set<unknown>() };
  /** The lists of definitions at all places. */
  readonly #definitions: { readonly before: unknown; readonly after: unknown; readonly place: Place }[] = [];

  constructor(before: JsonObject, after: JsonObject, direction: Direction, budget: Budget) {
    this.#before = before;
    this.#after = after;
    this.direction = direction;
    this.budget = budget;
  }

  run(): InnerChange[] {
    const place = { path: this.direction, level: 0, isNegated: false, isExclusive: false };
    try {
      this.compare(this.#before, this.#after, place);
      for (const each of this.#definitions) this.#compareDefinitions(each.before, each.after, each.place);
    } catch (error) {
      if (!(error instanceof ExhaustedError)) throw error;
      this.#addTooLarge(place);
    }
    return this.#changes;
  }

  compare(before: unknown, after: unknown, place: Place): void {
    this.budget.charge();
    if (place.level > LEVELS_MAX) {
      this.#addTooLarge(place);
      return;
    }
    const [old, now] = [plain(before), plain(after)];
    if (old === false || now === false) {
      if (old === now) return;
      if (now === false) this.effect("narrowed", place, "is no longer allowed");
      else this.effect("widened", place, "is allowed now", now);
    } else if (isObject(old) && isObject(now)) this.#compareTargets(old, now, place);
    else if (this.budget.text(old) !== this.budget.text(now)) this.effect("unclear", place, "is not a valid schema");
  }

  #compareTargets(before: JsonObject, after: JsonObject, place: Place): void {
    const old = follow(before, this.#before, this.budget, this.#reached.before);
    const now = follow(after, this.#after, this.budget, this.#reached.after);
    if (old.target && now.target) {
      const ids = [this.#idOf(old.target), this.#idOf(now.target)];
      const key = JSON.stringify([...ids, place.isNegated, place.isExclusive]);
      // The annotations beside a reference can differ although the targets were compared before.
      if (this.#compared.has(key)) {
        this.#compareObjects(old.beside, now.beside, place);
        return;
      }
      this.#compared.add(key);
    }
    const isWrapped = old.isWrapped || now.isWrapped;
    this.#compareObjects(
      isWrapped && old.target ? wrap(before) : old.merged(),
      isWrapped && now.target ? wrap(after) : now.merged(),
      place,
    );
  }

  #idOf(target: JsonObject): number {
    const id = this.#ids.get(target) ?? this.#ids.size;
    this.#ids.set(target, id);
    return id;
  }

  resolved(schema: unknown, side: "before" | "after"): unknown {
    if (!isObject(schema)) return schema;
    const root = side === "before" ? this.#before : this.#after;
    return follow(schema, root, this.budget, new Set()).merged();
  }

  #compareObjects(before: JsonObject, after: JsonObject, place: Place): void {
    this.budget.charge(Object.keys(before).length + Object.keys(after).length);
    const [old, now] = [unionOf(before), unionOf(after)];
    const isComparable = old
      ? now !== undefined || (!isList(before.type) && Object.keys(withoutAnnotations(after)).length > 0)
      : now !== undefined && !isList(after.type) && Object.keys(withoutAnnotations(before)).length > 0;
    if (!isComparable || (isList(before.type) && isList(after.type))) {
      this.#compareMembers(before, after, place);
      return;
    }
    for (const keyword of ANNOTATIONS) this.keyword(keyword, before, after, place);
    const only = (schema: JsonObject) => ({ alternatives: [withoutAnnotations(schema)], isExclusive: false });
    compareUnions(this, old ?? only(before), now ?? only(after), place);
  }

  #compareMembers(before: JsonObject, after: JsonObject, place: Place): void {
    const count = this.#changes.length;
    const values = compareValues(before, after, this.budget);
    // Of the JSON texts, only those with a string contain a quotation mark.
    const texts = values?.added.filter((each) => each.includes('"'));
    if (values) this.effect(values.effect, place, values.reason, texts);
    this.keyword("type", withImpliedTypes(before), withImpliedTypes(after), place);
    for (const keyword of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (Object.hasOwn(INNER, keyword)) this.#inner(keyword, before, after, place);
      else if (!Object.hasOwn(STRUCTURAL, keyword)) this.keyword(keyword, before, after, place);
      else this.#checkValues(keyword, before, after, place);
    }
    // A reference is still here only if it could not be followed.
    this.keyword("$ref", before, after, place);
    compareProperties(this, before, after, place);
    comparePrefixItems(this, before, after, place);
    compareContains(this, before, after, place);
    this.#combined(before, after, place);
    for (const keyword of ["$defs", "definitions"]) {
      this.#definitions.push({ before: before[keyword], after: after[keyword], place: atMember(place, keyword) });
    }
    const hasChanged = () => this.#changes.length > count || this.budget.text(before) !== this.budget.text(after);
    const reason = reasonToReview(before, after, place.level > 0);
    if (reason !== undefined && hasChanged()) this.effect("unclear", place, reason);
  }

  keyword(keyword: string, before: JsonObject, after: JsonObject, place: Place): void {
    this.budget.charge();
    const change = compareKeyword(keyword, before, after, this.budget);
    if (change) this.effect(change.effect, place, change.reason, { [keyword]: after[keyword] });
  }

  /** Reports a value of the wrong type, which the comparison of the keyword does not see. */
  #checkValues(keyword: string, before: JsonObject, after: JsonObject, place: Place): void {
    const isValid = [before[keyword], after[keyword]].every(
      (each) => each === undefined || STRUCTURAL[keyword]?.(each),
    );
    if (isValid || this.budget.text(before[keyword]) === this.budget.text(after[keyword])) return;
    this.effect("unclear", place, `its ${keyword} has changed, and has a value of the wrong type`);
  }

  /** Compares a schema for members or items. Without it, everything is allowed. */
  #inner(keyword: string, before: JsonObject, after: JsonObject, place: Place): void {
    const [old, now] = [plain(before[keyword]), plain(after[keyword])];
    const at = within(place, INNER[keyword] ?? "");
    const isRestriction = (schema: unknown) => !isObject(schema) || Object.keys(withoutAnnotations(schema)).length > 0;
    // Draft 7: a list of schemas for the first items.
    if (isList(old) || isList(now)) this.keyword(keyword, before, after, place);
    else if (isAnything(old) && isAnything(now)) return;
    else if (isAnything(old) && now !== false && isRestriction(now))
      this.effect("narrowed", at, "is restricted now", now);
    else if (isAnything(now) && old !== false && isRestriction(old))
      this.effect("widened", at, "is no longer restricted");
    else this.compare(old ?? true, now ?? true, at);
  }

  #combined(before: JsonObject, after: JsonObject, place: Place): void {
    this.#unions(before, after, place);
    const { pairs, removed, added } = pair(listOf(before.allOf), listOf(after.allOf), this.budget);
    for (const [old, now] of pairs) this.compare(old, now, within(place, ""));
    if (added.length > 0) this.effect("narrowed", place, "must satisfy more conditions now", added);
    if (removed.length > 0) this.effect("widened", place, "must satisfy fewer conditions now");
    const negated = { ...within(place, " (excluded)"), isNegated: !place.isNegated };
    if (before.not !== undefined && after.not !== undefined) this.compare(before.not, after.not, negated);
    else if (after.not !== undefined) this.effect("narrowed", place, "excludes more values now", after.not);
    else if (before.not !== undefined) this.effect("widened", place, "excludes fewer values now");
  }

  #unions(before: JsonObject, after: JsonObject, place: Place): void {
    const keywords = ["anyOf", "oneOf"] as const;
    const [old, now] = [before, after].map((schema) => keywords.filter((keyword) => isList(schema[keyword])));
    const [one, other] = [old?.[0], now?.[0]];
    const isSwitch = old?.length === 1 && now?.length === 1;
    for (const [from, to] of isSwitch ? [[one, other]] : keywords.map((keyword) => [keyword, keyword])) {
      const [lists, current] = [from && before[from], to && after[to]];
      if (isList(lists) && isList(current)) {
        const [union, newUnion] = [
          { alternatives: lists, isExclusive: from === "oneOf" },
          { alternatives: current, isExclusive: to === "oneOf" },
        ];
        compareUnions(this, union, newUnion, place);
      } else if (isList(current)) {
        this.effect("narrowed", place, "must match one of several alternatives now", current);
      } else if (isList(lists)) {
        this.effect("widened", place, "no longer needs to match one of several alternatives");
      }
    }
  }

  /** Reports definitions that differ and were not compared, because no reference that can be followed leads to them. */
  #compareDefinitions(before: unknown, after: unknown, place: Place): void {
    const [old, now] = [mapOf(before), mapOf(after)];
    this.budget.charge(old.size + now.size);
    for (const name of new Set([...old.keys(), ...now.keys()])) {
      const [one, other] = [old.get(name), now.get(name)];
      const isUnseen =
        (old.has(name) && !this.#reached.before.has(one)) || (now.has(name) && !this.#reached.after.has(other));
      if (!isUnseen || this.budget.text(one) === this.budget.text(other)) continue;
      const change = old.has(name) ? (now.has(name) ? "has changed" : "was removed") : "was added";
      this.effect("unclear", atMember(place, name), `is a definition that ${change} and was not compared`);
    }
  }

  effect(effect: Effect, place: Place, reason: string, added?: unknown): void {
    const severity = severityOf(place.isNegated ? NEGATED[effect] : effect, this.direction);
    this.report(severity, place, reason, added);
  }

  report(severity: Severity, place: Place, reason: string, added?: unknown): void {
    this.budget.charge();
    if (this.#changes.length >= CHANGES_MAX) throw new ExhaustedError();
    const doubt = severity === "compatible" ? this.#doubt(place, added) : undefined;
    if (doubt === undefined) this.#changes.push({ severity, path: place.path, reason });
    else this.#changes.push({ severity: "review", path: place.path, reason: `${reason}, ${doubt}` });
  }

  /** Returns why a change that looks compatible must be reviewed; undefined if it need not be. */
  #doubt(place: Place, added: unknown): string | undefined {
    if (hasNewText(added, this.#before, this.#after, this.budget, this.#reached.after)) return NEW_TEXT;
    return place.isExclusive ? "inside a keyword that can turn this into a restriction" : undefined;
  }

  #addTooLarge({ path }: Place): void {
    // A failed comparison must not look like an unchanged schema.
    if (this.#changes.at(-1)?.reason !== TOO_LARGE)
      this.#changes.push({ severity: "breaking", path, reason: TOO_LARGE });
  }
}

const TOO_LARGE = "is too large to be compared, so it counts as breaking";
/** The reason to review a new part. */
export const NEW_TEXT = "with text that models read";

/** Returns why every change inside a schema must be reviewed; undefined if there is no such reason. */
function reasonToReview(before: JsonObject, after: JsonObject, isInner: boolean): string | undefined {
  for (const keyword of ["unevaluatedProperties", "unevaluatedItems"]) {
    if (!isAnything(before[keyword]) || !isAnything(after[keyword]))
      return `has changed, and ${keyword} depends on everything in it`;
  }
  const hasId = isInner && (before.$id !== undefined || after.$id !== undefined);
  return hasId ? "has changed, and references to its $id were not followed" : undefined;
}

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
