/**
 * Prepares JSON Schemas for the validator. It resolves references itself: the validator would take exponential time for nested `$id`s, does
 * not know dynamic references, and finds the wrong part if two have equal anchors.
 *
 * @module
 * @see MCP 2026-07-28, basic, "JSON Schema Usage"
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";

/** The dialects that the validator knows, by their URI in `$schema`. */
const DIALECTS = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "https://json-schema.org/draft/2019-09/schema": "2019-09",
  "http://json-schema.org/draft-07/schema": "7",
} as const;

/** A dialect, as the validator names it. */
type Dialect = (typeof DIALECTS)[keyof typeof DIALECTS];

/** A schema that the validator can use. */
export interface SchemaDocument {
  readonly dialect: Dialect;
  /** The copy that the validator gets. The value of each `$ref` in it is a key of {@link schemas}. */
  readonly root: JsonObject;
  /** The schemas to which references refer. */
  readonly schemas: Readonly<Record<string, JsonObject | boolean>>;
}

/** Keywords whose value maps names to schemas. The names are not keywords. */
const MAPS: readonly string[] = [
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
];
/** Keywords whose value is data, not a schema. */
const DATA: readonly string[] = ["const", "enum", "default", "example", "examples", "required", "dependentRequired"];
/** Keywords that the copy does not have: references, which are resolved, and a name in which the validator looks for their URI. */
const LEFT_OUT: readonly string[] = ["$ref", "$dynamicRef", "$recursiveRef", "__absolute_ref__"];
/** The keyword for references that are resolved at the time of validation, and the keyword for their targets, by dialect. */
const DYNAMIC: Readonly<Record<Dialect, readonly [reference: string, anchor: string] | undefined>> = {
  "2020-12": ["$dynamicRef", "$dynamicAnchor"],
  "2019-09": ["$recursiveRef", "$recursiveAnchor"],
  "7": undefined,
};
/**
 * The maximum length of the URI of an `$id` or a reference. Longer ones would take much time, because each is parsed.
 * @limit internal
 */
const URI_MAX = 2_000;
/** Relative `$id`s are resolved against this URI if the schema itself has none. */
const BASE = "https://schema.invalid/";

/** A part of the document with a base URI of its own: the document itself, or a schema with an `$id`. */
interface Resource {
  readonly uri: string;
  readonly root: JsonObject;
  readonly anchors: Map<string, JsonObject>;
}

/** A reference in a schema, before it is resolved. */
interface Reference {
  readonly text: unknown;
  readonly isDynamic: boolean;
  readonly from: Resource;
  /** Where to write the key of its target. */
  readonly into: JsonObject;
}

/**
 * Prepares a schema of 2020-12 (the default), 2019-09 or draft-07. Its references must not leave it, because other documents are never
 * fetched.
 *
 * @param see Is called for every value of the schema with its depth. It may throw, to limit both.
 * @throws {Error} naming a dialect that is not supported; a reference to another document, to nothing, or to several parts; an `$id` that
 *   is not a URI; or an `$id` or anchor that two parts have.
 */
export function prepareSchema(schema: JsonObject, see?: (depth: number) => void): SchemaDocument {
  return new Preparation(dialectOf(schema), see).run(schema);
}

/** Returns the schema to which a schema of the copy refers, or undefined if it has no reference. */
export function referredBy(schemas: SchemaDocument["schemas"], { $ref }: JsonObject): JsonObject | boolean | undefined {
  return typeof $ref === "string" ? schemas[$ref] : undefined;
}

function dialectOf({ $schema = "https://json-schema.org/draft/2020-12/schema" }: JsonObject): Dialect {
  const uri = String($schema).replace(/#$/, "");
  if (Object.hasOwn(DIALECTS, uri)) return DIALECTS[uri as keyof typeof DIALECTS];
  const supported = Object.keys(DIALECTS).join(", ");
  throw new Error(`its dialect ${JSON.stringify($schema)} is not supported. Supported: ${supported}`);
}

class Preparation {
  readonly #dialect: Dialect;
  readonly #see: ((depth: number) => void) | undefined;
  /** The copies of all schemas, by the schemas. */
  readonly #copies = new Map<JsonObject, JsonObject>();
  readonly #resources = new Map<string, Resource>();
  readonly #references: Reference[] = [];
  /** The parts with a target of dynamic references, by the value of its keyword. */
  readonly #dynamicTargets = new Map<unknown, Set<Resource>>();

  constructor(dialect: Dialect, see?: (depth: number) => void) {
    this.#dialect = dialect;
    this.#see = see;
  }

  run(schema: JsonObject): SchemaDocument {
    const unnamed: Resource = { uri: BASE, root: schema, anchors: new Map() };
    const root = this.#copy(schema, "schema", 0, unnamed) as JsonObject;
    const schemas: Record<string, JsonObject | boolean> = Object.create(null);
    const keys = new Map<unknown, string>();
    for (const reference of this.#references) {
      const target = this.#resolve(reference);
      const key = keys.get(target) ?? String(keys.size);
      keys.set(target, key);
      schemas[key] = target;
      reference.into.$ref = key;
    }
    return { dialect: this.#dialect, root, schemas };
  }

  #copy(value: unknown, kind: "schema" | "named schemas" | "data", depth: number, around: Resource): unknown {
    this.#see?.(depth);
    if (Array.isArray(value)) return value.map((member) => this.#copy(member, kind, depth + 1, around));
    if (!isObject(value)) return value;
    const resource = kind === "schema" ? this.#enter(value, around) : around;
    const members = Object.entries(value).flatMap(([key, member]) => {
      if (kind !== "schema") {
        return [[key, this.#copy(member, kind === "data" ? "data" : "schema", depth + 1, resource)]];
      }
      if (LEFT_OUT.includes(key)) return [];
      const kindOfMember = DATA.includes(key)
        ? "data"
        : MAPS.includes(key) && isObject(member)
          ? "named schemas"
          : "schema";
      return [[key, this.#copy(member, kindOfMember, depth + 1, resource)]];
    });
    const copy = Object.fromEntries(members) as JsonObject;
    if (kind === "schema") {
      this.#copies.set(value, copy);
      this.#collect(value, copy, resource);
    }
    return copy;
  }

  /** Returns the resource to which a schema belongs: the one around it, unless it begins a new one. */
  #enter(schema: JsonObject, around: Resource): Resource {
    // In draft-07, a $ref hides the $id beside it, and the fragment of an $id is an anchor.
    const isHidden = this.#dialect === "7" && schema.$ref !== undefined;
    const $id = typeof schema.$id === "string" && !isHidden ? schema.$id : "";
    const [path = "", fragment = ""] = $id.split("#");
    let resource = around;
    if (path !== "") {
      const uri = uriOf(path, around.uri);
      if (uri === undefined) throw new Error(`the $id ${quote($id)} is not a URI of at most ${URI_MAX} characters`);
      if (uri !== around.uri || fragment === "") resource = this.#begin(uri, schema);
    }
    for (const name of new Set([schema.$anchor, schema.$dynamicAnchor, fragment])) {
      if (typeof name !== "string" || name === "") continue;
      const known = resource.anchors.get(name) ?? schema;
      if (!areSame(known, schema)) throw new Error(`two of its parts have the anchor ${quote(name)}`);
      resource.anchors.set(name, known);
    }
    const target = this.#dynamicAnchorOf(schema);
    const targets = this.#dynamicTargets.get(target) ?? new Set();
    if (target !== undefined) this.#dynamicTargets.set(target, targets.add(resource));
    return resource;
  }

  /** Begins a resource with a schema. A program can use the same schema in several places. */
  #begin(uri: string, root: JsonObject): Resource {
    const resource = this.#resources.get(uri) ?? { uri, root, anchors: new Map() };
    if (!areSame(resource.root, root)) throw new Error(`two of its parts have the $id ${quote(uri)}`);
    this.#resources.set(uri, resource);
    return resource;
  }

  /** Returns the value of the keyword that makes a schema the target of dynamic references. */
  #dynamicAnchorOf(schema: JsonObject): unknown {
    const [, keyword = ""] = DYNAMIC[this.#dialect] ?? [];
    return schema[keyword] === false ? undefined : schema[keyword];
  }

  /** Notes the references of a schema. */
  #collect(schema: JsonObject, copy: JsonObject, from: Resource): void {
    if (schema.$ref !== undefined) this.#references.push({ text: schema.$ref, isDynamic: false, from, into: copy });
    const [keyword] = DYNAMIC[this.#dialect] ?? [];
    const text = keyword === undefined ? undefined : schema[keyword];
    if (text === undefined) return;
    // A schema can have two references, so the dynamic one gets a schema of its own.
    const into: JsonObject = {};
    copy.allOf = [...(Array.isArray(copy.allOf) ? copy.allOf : []), into];
    this.#references.push({ text, isDynamic: true, from, into });
  }

  /** Returns the copy of the schema to which a reference refers. */
  #resolve({ text, isDynamic, from }: Reference): JsonObject | boolean {
    const target = typeof text === "string" ? this.#find(text, from) : undefined;
    const found = typeof target === "boolean" ? target : isObject(target) ? this.#copies.get(target) : undefined;
    if (found === undefined) {
      throw new Error(`the reference ${quote(text)} is not in the schema, and other documents are not fetched`);
    }
    const anchor = isDynamic && isObject(target) ? this.#dynamicAnchorOf(target) : undefined;
    // With several targets, it would depend on the validation so far which of them is meant.
    if (anchor !== undefined && (this.#dynamicTargets.get(anchor)?.size ?? 0) > 1) {
      throw new Error(`the dynamic reference ${quote(text)} has several targets`);
    }
    return found;
  }

  /** Returns the value in the document that a reference names by its URI, JSON Pointer (RFC 6901) or anchor. */
  #find(reference: string, from: Resource): unknown {
    const [, path = "", encoded = ""] = /^([^#]*)#?(.*)$/s.exec(reference) ?? [];
    const resource = path === "" ? from : this.#resources.get(uriOf(path, from.uri) ?? "");
    const fragment = decode(encoded);
    if (resource === undefined || fragment === undefined) return undefined;
    if (fragment === "") return resource.root;
    if (!fragment.startsWith("/")) return resource.anchors.get(fragment);
    let value: unknown = resource.root;
    for (const step of fragment.slice(1).split("/")) {
      const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
      const isIn = (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key);
      value = isIn ? (value as JsonObject)[key] : undefined;
    }
    return value;
  }
}

/** Returns the absolute URI of a URI reference without a fragment, or undefined if it is none. */
function uriOf(reference: string, base: string): string | undefined {
  // The time to parse a host that is not ASCII grows with the square of its length.
  if (reference.length > URI_MAX || /[^!-~]/.test(reference) || !URL.canParse(reference, base)) return undefined;
  const { href } = new URL(reference, base);
  return href.length > URI_MAX ? undefined : href;
}

function areSame(one: JsonObject, other: JsonObject): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Returns a text for a message, shortened. */
function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
