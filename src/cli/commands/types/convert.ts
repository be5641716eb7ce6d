/**
 * Converts JSON Schema to TypeScript types. The schemas come from a server, so the amount of work is bounded, references to other
 * documents are not followed, and no text from the server can become code.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { findTarget } from "../../../lock/schema-pointer.ts";
import { clean, toJson } from "../../terminal/terminal.ts";

/** The maximum depth of nesting. Deeper types become `unknown`. */
const DEPTH_MAX = 24;
/** The maximum number of schemas of one server. Additional ones become `unknown`. */
const SCHEMAS_MAX = 20_000;

/** Collects the declarations of one file. */
export class TypeWriter {
  /** The declarations so far, in order. */
  readonly declarations: string[] = [];
  readonly #names = new Set<string>();
  /**
   * The types that each type names directly, that is, outside of the members of an object or array. A type that names itself directly
   * or through other types in this way would not compile.
   */
  readonly #direct = new Map<string, Set<string>>();
  /** The name of the type that is being written; undefined inside the members of an object or array. */
  #writing: string | undefined;
  #schemas = 0;

  /** Returns an unused type name, derived from a string. */
  nameFor(text: string): string {
    const base = pascalCase(text);
    let name = base;
    for (let count = 2; this.#names.has(name); count += 1) name = `${base}${count}`;
    this.#names.add(name);
    return name;
  }

  /** Declares a type for a schema, and returns its name. */
  declare(text: string, schema: unknown, description?: unknown): string {
    const name = this.nameFor(text);
    const at = this.declarations.push("") - 1;
    const scope: SchemaScope = { root: schema, name, references: new Map([["#", name]]) };
    const type = this.#during(name, () => this.#writeType(schema, scope, 0));
    this.declarations[at] = `${toComment(description, "")}export type ${name} = ${type};\n`;
    return name;
  }

  #writeType(schema: unknown, scope: SchemaScope, depth: number): string {
    this.#schemas += 1;
    if (schema === false) return "never";
    if (!isObject(schema) || depth > DEPTH_MAX || this.#schemas > SCHEMAS_MAX) return "unknown";
    const parts = [...this.#writeParts(schema, scope, depth)].filter((part) => part !== "unknown");
    return parts.length === 0
      ? "unknown"
      : [...new Set(parts)].map((part) => (parts.length > 1 ? group(part) : part)).join(" & ");
  }

  /** Yields the types of a schema's parts. A value must have all of them. */
  *#writeParts(schema: JsonObject, scope: SchemaScope, depth: number): Generator<string> {
    const list = (of: unknown) => (Array.isArray(of) ? of.map((each) => this.#writeType(each, scope, depth + 1)) : []);
    if (typeof schema.$ref === "string") yield this.#reference(schema.$ref, scope);
    if ("const" in schema) yield literal(schema.const);
    else if (Array.isArray(schema.enum)) yield union(schema.enum.map(literal));
    else yield this.#ownType(schema, scope, depth);
    for (const all of list(schema.allOf)) yield all;
    for (const key of ["anyOf", "oneOf"] as const) if (Array.isArray(schema[key])) yield union(list(schema[key]));
  }

  #ownType(schema: JsonObject, scope: SchemaScope, depth: number): string {
    const { type } = schema;
    const types = Array.isArray(type) ? type : type === undefined ? impliedTypes(schema) : [type];
    return types.length === 0 ? "unknown" : union(types.map((each) => this.#simple(each, schema, scope, depth)));
  }

  #simple(type: unknown, schema: JsonObject, scope: SchemaScope, depth: number): string {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return type;
      case "integer":
        return "number";
      case "array":
        return this.#array(schema, scope, depth);
      case "object":
        return this.#object(schema, scope, depth);
      default:
        return "unknown";
    }
  }

  #array({ items, prefixItems }: JsonObject, scope: SchemaScope, depth: number): string {
    const toType = (each: unknown) => this.#during(undefined, () => this.#writeType(each, scope, depth + 1));
    const item = items === undefined || items === true ? "unknown" : toType(items);
    if (!Array.isArray(prefixItems)) return `${group(item)}[]`;
    const first = prefixItems.map((each) => `${group(toType(each))}?`);
    return `[${[...first, ...(items === false ? [] : [`...${group(item)}[]`])].join(", ")}]`;
  }

  #object(schema: JsonObject, scope: SchemaScope, depth: number): string {
    const { additionalProperties: more } = schema;
    const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
    const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
    if (properties.length === 0) {
      if (more === false) return "Record<string, never>";
      return `Record<string, ${isObject(more) ? this.#writeType(more, scope, depth + 1) : "unknown"}>`;
    }
    const indent = "  ".repeat(depth + 1);
    const lines = properties.map(([name, property]) => {
      const mark = required.includes(name) ? "" : "?";
      const description = isObject(property) ? (property.description ?? property.title) : undefined;
      const type = this.#during(undefined, () => this.#writeType(property, scope, depth + 1));
      return `${toComment(description, indent)}${indent}readonly ${propertyName(name)}${mark}: ${type};\n`;
    });
    return `{\n${lines.join("")}${"  ".repeat(depth)}}`;
  }

  /** Declares a separate type for a reference within the schema, so that types can be recursive. */
  #reference(pointer: string, scope: SchemaScope): string {
    const name = scope.references.get(pointer) ?? this.#declareTarget(pointer, scope);
    if (name === undefined || this.#writing === undefined) return name ?? "unknown";
    if (this.#namesDirectly(name, this.#writing)) return "unknown";
    const names = this.#direct.get(this.#writing) ?? new Set();
    this.#direct.set(this.#writing, names.add(name));
    return name;
  }

  #declareTarget(pointer: string, scope: SchemaScope): string | undefined {
    const target = findTarget(pointer, scope.root);
    if (target === undefined) return undefined;
    const name = this.nameFor(`${scope.name} ${pointer.split("/").at(-1)}`);
    scope.references.set(pointer, name);
    const at = this.declarations.push("") - 1;
    const description = isObject(target) ? target.description : undefined;
    const type = this.#during(name, () => this.#writeType(target, scope, 0));
    this.declarations[at] = `${toComment(description, "")}export type ${name} = ${type};\n`;
    return name;
  }

  /** Whether one type is the other, or names it directly or through other types. */
  #namesDirectly(from: string, to: string): boolean {
    return from === to || [...(this.#direct.get(from) ?? [])].some((name) => this.#namesDirectly(name, to));
  }

  #during<T>(writing: string | undefined, run: () => T): T {
    const before = this.#writing;
    this.#writing = writing;
    const result = run();
    this.#writing = before;
    return result;
  }
}

interface SchemaScope {
  readonly root: unknown;
  readonly name: string;
  /** The names of the types declared for references. */
  readonly references: Map<string, string>;
}

/** Returns the types that a schema without `type` implies. */
function impliedTypes(schema: JsonObject): string[] {
  if (isObject(schema.properties)) return ["object"];
  return schema.items !== undefined || schema.prefixItems !== undefined ? ["array"] : [];
}

function literal(value: unknown): string {
  const isSimple = value === null || ["string", "number", "boolean"].includes(typeof value);
  return isSimple ? toJson(value) : "unknown";
}

function union(types: readonly string[]): string {
  if (types.includes("unknown")) return "unknown";
  const different = [...new Set(types)].filter((type) => type !== "never");
  return different.length === 0
    ? "never"
    : different.map((type) => (different.length > 1 ? group(type) : type)).join(" | ");
}

/** Puts a type in parentheses if it would otherwise combine wrongly with an operator beside it. */
function group(type: string): string {
  return /^[\w.]+$|^"[^"]*"$|^\{[^{}]*\}$/.test(type) ? type : `(${type})`;
}

/** Returns the name of a property, quoted if necessary. */
export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : toJson(name);
}

function pascalCase(text: string): string {
  const words = text.match(/[A-Za-z0-9]+/g) ?? [];
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^[A-Za-z]/.test(name) ? name : `Type${name}`;
}

/** Returns a doc comment with text from the server; empty if it is not a string. A comment end within the text is escaped. */
export function toComment(description: unknown, indent: string): string {
  if (typeof description !== "string" || description.trim() === "") return "";
  const lines = clean(description)
    .replaceAll("*/", "*\\/")
    .trim()
    .split(/[\n\u2028\u2029]/)
    .map((line) => line.trimEnd());
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`, ""].join("\n");
}
