/**
 * Prepares JSON Schemas for the validator. References are resolved here and not by the validator, which needs exponential time for nested
 * `$id`s, does not support dynamic references, and confuses equal anchors of different schema resources.
 *
 * @module
 * @see MCP 2026-07-28, basic, "JSON Schema Usage"
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";

/** The dialects that the validator supports: their URI in `$schema`, and the validator's name for them. */
const DIALECTS = {
  "https://json-schema.org/draft/2020-12/schema": "2020-12",
  "https://json-schema.org/draft/2019-09/schema": "2019-09",
  "http://json-schema.org/draft-07/schema": "7",
} as const;

/** The name that the validator uses for a dialect. */
type Dialect = (typeof DIALECTS)[keyof typeof DIALECTS];

/** A schema with its references resolved, which the validator can use. */
export interface SchemaDocument {
  readonly dialect: Dialect;
  /** The copy that is given to the validator. Each `$ref` in it is a key of {@link schemas}. */
  readonly root: JsonObject;
  /** The target of each reference, by the key in the `$ref` of the copy. */
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
/** Keywords that are not copied: references, because they are resolved here, and a name that the validator would take for their URI. */
const LEFT_OUT: readonly string[] = ["$ref", "$dynamicRef", "$recursiveRef", "__absolute_ref__"];
/** For each dialect, the keyword of a dynamic reference, and the keyword that marks its target. Draft-07 has neither. */
const DYNAMIC: Readonly<Record<Dialect, readonly [reference: string, anchor: string] | undefined>> = {
  "2020-12": ["$dynamicRef", "$dynamicAnchor"],
  "2019-09": ["$recursiveRef", "$recursiveAnchor"],
  "7": undefined,
};
/**
 * The maximum length of an absolute `$id` or reference, in characters. Each one is parsed and compared, which takes long for long URIs.
 * @limit internal
 */
const URI_MAX = 2_000;
/** The base URI of a relative `$id` in a document whose root has no `$id`. */
const BASE = "https://schema.invalid/";

/** A schema resource: the whole document, or a schema in it that has an `$id`. */
interface Resource {
  readonly uri: string;
  readonly root: JsonObject;
  readonly anchors: Map<string, JsonObject>;
}

/** A `$ref`, `$dynamicRef` or `$recursiveRef` that is not resolved yet. */
interface Reference {
  readonly text: unknown;
  readonly isDynamic: boolean;
  readonly from: Resource;
  /** The copied schema whose `$ref` becomes the key of the target. */
  readonly into: JsonObject;
}

/**
 * Prepares a schema of 2020-12 (the default), 2019-09 or draft-07 for validation. Other documents are never fetched, so references to
 * them are refused.
 *
 * @param see Called for every value in the schema with its nesting depth. It can throw to limit the number of values or the depth.
 * @throws {Error} naming the dialect, if it is not supported; the reference, if it leads to another document, to nothing, or to several
 *   targets; the `$id`, if it is not a URI; or the `$id` or anchor that two different schemas have.
 * @see JSON Schema 2020-12, core, "Identifiers and Base URI" and "Schema References"
 */
export function prepareSchema(schema: JsonObject, see?: (depth: number) => void): SchemaDocument {
  return new Preparation(dialectOf(schema), see).run(schema);
}

/** Returns the target of the `$ref` of a copied schema, or undefined if the schema has none. */
export function referredBy(schemas: SchemaDocument["schemas"], { $ref }: JsonObject): JsonObject | boolean | undefined {
  return typeof $ref === "string" ? schemas[$ref] : undefined;
}

function dialectOf({ $schema = "https://json-schema.org/draft/2020-12/schema" }: JsonObject): Dialect {
  const uri = String($schema).replace(/#$/, "");
  if (Object.hasOwn(DIALECTS, uri)) return DIALECTS[uri as keyof typeof DIALECTS];
  const supported = Object.keys(DIALECTS).join(", ");
  throw new Error(`its dialect ${quote($schema)} is not supported. Supported: ${supported}`);
}

/** The work of {@link prepareSchema}: copies the schema and collects its resources and references, then resolves the references. */
class Preparation {
  readonly #dialect: Dialect;
  readonly #see: ((depth: number) => void) | undefined;
  /** The copy of each schema, by the original. */
  readonly #copies = new Map<JsonObject, JsonObject>();
  readonly #resources = new Map<string, Resource>();
  readonly #references: Reference[] = [];
  /** The resources that contain a target of dynamic references, by the name of the target. */
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

  /** Returns the resource to which a schema belongs, and records its anchors. A schema with an `$id` begins a new resource. */
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

  /** Begins a resource with a schema. An equal schema in another place belongs to the same resource. */
  #begin(uri: string, root: JsonObject): Resource {
    const resource = this.#resources.get(uri) ?? { uri, root, anchors: new Map() };
    if (!areSame(resource.root, root)) throw new Error(`two of its parts have the $id ${quote(uri)}`);
    this.#resources.set(uri, resource);
    return resource;
  }

  /** Returns the name under which a schema is a target of dynamic references, or undefined if it is none. */
  #dynamicAnchorOf(schema: JsonObject): unknown {
    const [, keyword = ""] = DYNAMIC[this.#dialect] ?? [];
    return schema[keyword] === false ? undefined : schema[keyword];
  }

  /** Records the references of a schema, to be resolved when the whole document has been copied. */
  #collect(schema: JsonObject, copy: JsonObject, from: Resource): void {
    if (schema.$ref !== undefined) this.#references.push({ text: schema.$ref, isDynamic: false, from, into: copy });
    const [keyword] = DYNAMIC[this.#dialect] ?? [];
    const text = keyword === undefined ? undefined : schema[keyword];
    if (text === undefined) return;
    // The schema may also have a $ref, so the dynamic reference becomes the $ref of a new schema in allOf.
    const into: JsonObject = {};
    copy.allOf = [...(Array.isArray(copy.allOf) ? copy.allOf : []), into];
    this.#references.push({ text, isDynamic: true, from, into });
  }

  /** Returns the copy of the schema that a reference points to. */
  #resolve({ text, isDynamic, from }: Reference): JsonObject | boolean {
    const target = typeof text === "string" ? this.#find(text, from) : undefined;
    const found = typeof target === "boolean" ? target : isObject(target) ? this.#copies.get(target) : undefined;
    if (found === undefined) {
      throw new Error(`the reference ${quote(text)} is not in the schema, and other documents are not fetched`);
    }
    const anchor = isDynamic && isObject(target) ? this.#dynamicAnchorOf(target) : undefined;
    // If several schemas are targets, the right one depends on the path of the validation, which is not known here.
    if (anchor !== undefined && (this.#dynamicTargets.get(anchor)?.size ?? 0) > 1) {
      throw new Error(`the dynamic reference ${quote(text)} has several targets`);
    }
    return found;
  }

  /** Returns what a reference points to in the original document, by URI, JSON Pointer (RFC 6901) or anchor; undefined if there is nothing. */
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

/** Resolves a URI reference that has no fragment. Returns undefined if it is not valid, not ASCII or too long. */
function uriOf(reference: string, base: string): string | undefined {
  // Parsing a host name takes quadratic time if it is not ASCII.
  if (reference.length > URI_MAX || /[^!-~]/.test(reference) || !URL.canParse(reference, base)) return undefined;
  const { href } = new URL(reference, base);
  return href.length > URI_MAX ? undefined : href;
}

/** Whether two schemas are equal in JSON. */
function areSame(one: JsonObject, other: JsonObject): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Returns a value as JSON for an error message, cut off after 200 characters. */
function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Decodes the percent-encoding of a fragment. Returns undefined if it is not valid. */
function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
