/**
 * Converts the schemas of a description to shapes: without references, and with bounded depth and size.
 *
 * @module
 */
import type { Description, Resolved } from "./document.ts";
import {
  ALTERNATIVES_MAX,
  CONVERSIONS_MAX,
  ENUM_MAX,
  ITEMS_MAX,
  LENGTH_MAX,
  MEMBER_TEXT_MAX,
  MEMBERS_MAX,
} from "./limits.ts";
import type { Member, Scalar, Shape } from "./shape.ts";
import { hasHidden, oneLine, shorten } from "./text.ts";
import { isTree, listOf, scalarText, type Tree, textOf, treeOf } from "./tree.ts";

/** The level of detail with which a schema is converted. */
export interface Detail {
  /** The maximum depth of objects that are described. */
  readonly depth: number;
  /** The maximum length of a description, in characters; 0 for none. */
  readonly textMax: number;
  /** Whether the schema is for a response. Members may then be missing, and unknown members are allowed. */
  readonly isResponse?: boolean;
}

/** Whether every object inherits a member with this name. Zod would find it even if the model has not passed it. */
const isInherited = (name: string) => name in Object.prototype;

const OPEN: Shape = { kind: "map", values: { kind: "unknown" } };

/** Converts schemas of one tool. The number of conversions is limited. */
export class Converter {
  readonly #description: Description;
  readonly #detail: Detail;
  #left = CONVERSIONS_MAX;

  constructor(description: Description, detail: Detail) {
    this.#description = description;
    this.#detail = detail;
  }

  /** Converts a schema. @param path The references that lead to it. A recursive schema accepts any members. */
  convert(given: unknown, path: readonly string[] = [], depth = this.#detail.depth): Shape {
    this.#left -= 1;
    const placed = this.#description.resolve(given);
    if (placed === undefined || this.#left < 0) return { kind: "unknown" };
    if (placed.ref !== undefined && path.includes(placed.ref)) return OPEN;
    const inner = placed.ref === undefined ? path : [...path, placed.ref];
    const schema = this.#merged(placed, inner);
    const title = placed.ref?.split("/").at(-1);
    const bare = this.#bare(schema, inner, depth);
    const { isNullable = false } = bare;
    return {
      ...bare,
      ...this.#text(treeOf(given).description ?? schema.description, schema, depth),
      ...(title === undefined ? {} : { title }),
      ...(isNullable || isNull(schema) ? { isNullable: true } : {}),
    };
  }

  /** Joins the parts of `allOf`. */
  #merged(placed: Resolved, path: readonly string[]): Tree {
    const parts = listOf(placed.value.allOf);
    if (parts.length === 0) return placed.value;
    const trees = parts.slice(0, MEMBERS_MAX).flatMap((part) => {
      this.#left -= 1;
      const found = this.#description.resolve(part);
      if (found === undefined || this.#left < 0 || (found.ref !== undefined && path.includes(found.ref))) return [];
      return [this.#merged(found, found.ref === undefined ? path : [...path, found.ref])];
    });
    const { allOf: _, ...own } = placed.value;
    const all = [...trees, own];
    const properties = Object.assign(Object.create(null), ...all.map((each) => treeOf(each.properties)));
    const required = [...new Set(all.flatMap((each) => listOf(each.required)))];
    return { ...Object.assign(Object.create(null), ...all), properties, required };
  }

  #bare(schema: Tree, path: readonly string[], depth: number): Shape {
    const types = typesOf(schema);
    const enumerated = this.#values(schema);
    // Responses often contain values that are not described yet.
    if (enumerated !== undefined && (this.#detail.isResponse !== true || types.length === 0)) return enumerated;
    const alternatives = listOf(schema.oneOf ?? schema.anyOf);
    if (alternatives.length > 0 && Object.keys(treeOf(schema.properties)).length === 0)
      return this.#anyOf(alternatives, path, depth);
    const [type] = types;
    if (types.length > 1) return union(types.map((each) => this.#bare({ ...schema, type: each }, path, depth)));
    if (this.#detail.isResponse === true && /^(string|integer|number)$/.test(type ?? "")) return received(schema, type);
    if (type === "string") return { kind: "string", ...sizes(schema, ["minLength", "maxLength"], LENGTH_MAX) };
    if (type === "integer" || type === "number") return number(schema, type === "integer");
    if (type === "boolean") return { kind: "boolean" };
    if (type === "array") {
      const isNested = typesOf(this.#description.tree(schema.items))[0] === "array";
      const items: Shape = depth < 0 ? { kind: "unknown" } : this.convert(schema.items, path, depth - Number(isNested));
      return { kind: "list", items, ...sizes(schema, ["minItems", "maxItems"], ITEMS_MAX) };
    }
    if (type === "object") return this.#object(schema, path, depth);
    return { kind: "unknown" };
  }

  #values(schema: Tree): Shape | undefined {
    const given = schema.const === undefined ? schema.enum : [schema.const];
    if (!Array.isArray(given)) return undefined;
    const isScalar = (value: unknown): value is Scalar => value === null || typeof value !== "object";
    const values = [...new Set(given.filter(isScalar))].filter((value) => value !== null && value !== undefined);
    if (values.length === 0 || values.length > ENUM_MAX) return undefined;
    // A number that JSON cannot express, or that was rounded when it was read.
    if (values.some((value) => typeof value === "number" && !isExact(value))) return undefined;
    // Hidden text must not reach a model.
    if (values.some((value) => typeof value === "string" && hasHidden(value))) return undefined;
    const isNullable = given.includes(null);
    return { kind: "values", values, ...(isNullable ? { isNullable } : {}) };
  }

  #anyOf(alternatives: readonly unknown[], path: readonly string[], depth: number): Shape {
    if (alternatives.length > ALTERNATIVES_MAX)
      return alternatives.every((each) => this.#isObject(each)) ? OPEN : { kind: "unknown" };
    const isNullable = alternatives.some((each) => treeOf(each).type === "null");
    const others = alternatives.filter((each) => treeOf(each).type !== "null");
    const options = others.map((each) => this.convert(each, path, depth));
    return { ...union(options), ...(isNullable ? { isNullable } : {}) };
  }

  /** Whether a schema describes an object at its top level. */
  #isObject(given: unknown): boolean {
    const schema = this.#description.tree(given);
    const [type = schema.allOf === undefined ? "unknown" : "object"] = typesOf(schema);
    return type === "object";
  }

  #object(schema: Tree, path: readonly string[], depth: number): Shape {
    const given = Object.keys(treeOf(schema.properties)).filter((name) => !hasHidden(name));
    const names = given.filter((name) => !isInherited(name));
    const rest = schema.additionalProperties;
    if (names.length === 0 && isTree(rest) && depth > 0)
      return { kind: "map", values: this.convert(rest, path, depth - 1) };
    if (names.length === 0 || depth <= 0) return OPEN;
    const required = new Set(listOf(schema.required));
    const { isResponse = false } = this.#detail;
    const members = names.slice(0, MEMBERS_MAX).flatMap((name): Member[] => {
      const member = treeOf(schema.properties)[name];
      if (!isResponse && treeOf(member).readOnly === true) return [];
      const shape = this.convert(member, path, depth - 1);
      if (!isResponse) return [{ name, shape, isRequired: required.has(name) }];
      // APIs often omit required members or send null. A result that violates its schema would be lost.
      return [{ name, shape: { ...shape, isNullable: true }, isRequired: false }];
    });
    // A member that is not described can still be passed.
    const isOpen = isResponse || isTree(rest) || rest === true || names.length < given.length;
    return { kind: "object", members, isOpen };
  }

  #text(given: unknown, schema: Tree, depth: number): { readonly text?: string } {
    const isArgument = depth === this.#detail.depth;
    const textMax = isArgument ? 2 * this.#detail.textMax : this.#detail.textMax;
    if (textMax === 0) return {};
    const format = textOf(schema.format);
    const hint = format !== undefined && /^[a-z-]{3,20}$/.test(format) && HINTS.has(format) ? ` (${format})` : "";
    const values = listOf(schema.enum);
    const some =
      values.length > ENUM_MAX ? ` One of ${values.slice(0, 10).map(scalarText).join(", ")}, and others.` : "";
    // A default is only mentioned in the description. A value that the model omits is not sent, because the API may refuse the default in
    // some combinations.
    const isScalar = ["string", "number", "boolean"].includes(typeof schema.default) && schema.default !== "";
    const initial = isScalar ? ` Default: ${String(schema.default).slice(0, 60)}.` : "";
    const text =
      `${shorten(oneLine(textOf(given) ?? ""), textMax)}${oneLine(some) && ` ${oneLine(some)}`}${initial && ` ${oneLine(initial)}`}${hint}`.trim();
    return text === "" ? {} : { text };
  }
}

/** Formats that a model should know. */
const HINTS = new Set(["date", "date-time", "email", "uuid", "uri", "byte", "ipv4", "ipv6", "password"]);

function typesOf(schema: Tree): string[] {
  const given = Array.isArray(schema.type) ? schema.type : [schema.type];
  const types = given.filter((type): type is string => typeof type === "string" && type !== "null");
  if (types.length > 0) return [...new Set(types)].slice(0, ALTERNATIVES_MAX);
  if (isTree(schema.properties) || schema.additionalProperties !== undefined) return ["object"];
  return schema.items === undefined ? [] : ["array"];
}

function isNull(schema: Tree): boolean {
  return schema.nullable === true || (Array.isArray(schema.type) && schema.type.includes("null"));
}

function union(options: readonly Shape[]): Shape {
  const different = new Map(
    options.map((option) => [JSON.stringify({ ...option, text: undefined, title: undefined }), option]),
  );
  const [first, second] = [...different.values()];
  if (first === undefined) return { kind: "unknown" };
  if (second === undefined) return first;
  if ([...different.values()].some(({ kind }) => kind === "unknown")) return { kind: "unknown" };
  return { kind: "any-of", options: [...different.values()] };
}

/**
 * Returns the shape of a text or number in a response, without limits, because APIs often exceed them. An int64 may be a text, because
 * JavaScript would round it.
 */
function received({ format }: Tree, type: string | undefined): Shape {
  if (type === "string") return { kind: "string" };
  return type === "integer" && format === "int64" ? { kind: "unknown" } : { kind: "number", isInteger: false };
}

function number(schema: Tree, isInteger: boolean): Shape {
  const bound = (value: unknown) =>
    typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER && (!isInteger || Number.isInteger(value))
      ? value
      : undefined;
  const [min, max] = [bound(schema.minimum), bound(schema.maximum)];
  return { kind: "number", isInteger, ...((min ?? -Infinity) <= (max ?? Infinity) ? { min, max } : {}) };
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

/** Reads a minimum and a maximum. A minimum above `minMax` is not enforced, because no example would have that size. */
function sizes(
  schema: Tree,
  [low, high]: readonly [string, string],
  minMax: number,
): { min?: number | undefined; max?: number | undefined } {
  const size = (value: unknown) => (Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined);
  const [min = 0, max] = [size(schema[low]), size(schema[high])];
  return min <= (max ?? Infinity) ? { min: min === 0 || min > minMax ? undefined : min, max } : {};
}

/** The levels of detail for the arguments of a tool, in descending order. A lower level is used if the schema is too large. */
export const DETAILS: readonly Omit<Detail, "isResponse">[] = [
  { depth: 5, textMax: MEMBER_TEXT_MAX },
  { depth: 4, textMax: MEMBER_TEXT_MAX },
  { depth: 3, textMax: MEMBER_TEXT_MAX },
  { depth: 2, textMax: MEMBER_TEXT_MAX },
  { depth: 2, textMax: 80 },
  { depth: 1, textMax: 80 },
  { depth: 1, textMax: 0 },
  { depth: 0, textMax: 0 },
];
