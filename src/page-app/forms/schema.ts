/**
 * Determines the fields of a form from a JSON Schema. Schemas without a matching control get a JSON field, so that every value
 * can be sent.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";

/** A choice with its displayed text. */
export interface Choice {
  readonly value: unknown;
  readonly title: string;
}

/** The members of all fields. */
interface FieldCommon {
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** The value of `default`. */
  readonly preset: unknown;
}

/** A field of a form. */
export type Field = FieldCommon &
  (
    | { readonly kind: "text"; readonly input: TextInput; readonly isLong: boolean }
    | { readonly kind: "file" }
    | { readonly kind: "number"; readonly isInteger: boolean; readonly min?: number; readonly max?: number }
    | { readonly kind: "boolean" }
    | { readonly kind: "choice"; readonly choices: readonly Choice[] }
    | { readonly kind: "choices"; readonly choices: readonly Choice[] }
    | { readonly kind: "list"; readonly item: JsonObject }
    | { readonly kind: "object"; readonly members: readonly FieldMember[] }
    | { readonly kind: "variants"; readonly variants: readonly Variant[] }
    | { readonly kind: "constant" }
    | { readonly kind: "json" }
  );

/** The types of `<input>` for string formats. */
export type TextInput = "text" | "email" | "url" | "date" | "time" | "password";

/** A member of an object. */
export interface FieldMember {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
}

/** One of several alternative schemas of a value. */
export interface Variant {
  readonly title: string;
  readonly schema: JsonObject;
}

/** The maximum length of a chain of references, because a schema may refer to itself. */
const REFERENCES_MAX = 32;

const INPUTS: Readonly<Record<string, TextInput>> = { email: "email", uri: "url", date: "date", time: "time" };
/** The maximum length of strings that get a single-line input. */
const LINE_LENGTH = 200;

/** Reads the schemas of one document. They may refer to each other. */
export class SchemaReader {
  readonly #root: JsonObject;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** Returns the field of a schema. */
  read(given: unknown): Field {
    const schema = this.resolve(given);
    const { title, description, default: preset } = schema;
    const common = { title: textOf(title), description: textOf(description), preset };
    return { ...common, ...this.#kindOf(schema) } as Field;
  }

  #kindOf(schema: JsonObject) {
    if ("const" in schema) return { kind: "constant", preset: schema.const } as const;
    const choices = choicesOf(schema);
    if (choices) return { kind: "choice", choices } as const;
    const variants = this.#variantsOf(schema);
    if (variants) return { kind: "variants", variants } as const;
    switch (typeOf(schema)) {
      case "string":
        return stringField(schema);
      case "number":
      case "integer":
        return numberField(schema);
      case "boolean":
        return { kind: "boolean" } as const;
      case "array":
        return this.#listField(schema);
      case "object": {
        const members = membersOf(schema);
        return members.length > 0 || schema.additionalProperties === false
          ? ({ kind: "object", members } as const)
          : ({ kind: "json" } as const);
      }
      default:
        return { kind: "json" } as const;
    }
  }

  #listField({ items }: JsonObject) {
    if (items === undefined || Array.isArray(items)) return { kind: "json" } as const;
    const item = this.resolve(items);
    const choices = choicesOf(item);
    return choices ? ({ kind: "choices", choices } as const) : ({ kind: "list", item } as const);
  }

  #variantsOf(schema: JsonObject): readonly Variant[] | undefined {
    const { oneOf, anyOf, ...base } = schema;
    const options = (Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : []).map((each) =>
      this.resolve(each),
    );
    // Alternatives that only contain constraints are ignored. The server checks them.
    if (options.length === 0 || !options.every(hasForm)) return undefined;
    const { title: _, description: __, default: ___, ...shared } = base;
    return options.map((option, at) => ({
      title: textOf(option.title) ?? textOf(option.description) ?? textOf(typeOf(option)) ?? `Option ${at + 1}`,
      schema: "properties" in shared ? join(option, shared) : option,
    }));
  }

  /** Resolves references, and merges the schemas in `allOf`. */
  resolve(given: unknown): JsonObject {
    let schema: JsonObject = isObject(given) ? given : {};
    for (let steps = 0; typeof schema.$ref === "string" && steps < REFERENCES_MAX; steps += 1) {
      const { $ref, ...own } = schema;
      schema = { ...this.#find($ref as string), ...own };
    }
    const { allOf, ...own } = schema;
    // An `allOf` that only contains constraints is ignored. The server checks it.
    if (!Array.isArray(allOf) || !allOf.some((part) => isObject(part) && ("properties" in part || "$ref" in part)))
      return schema;
    return allOf.map((part) => this.#withoutRef(part)).reduce(join, own);
  }

  #withoutRef(part: unknown): JsonObject {
    return isObject(part) && typeof part.$ref === "string" ? this.#find(part.$ref) : isObject(part) ? part : {};
  }

  /** Finds a schema by a JSON Pointer in the document. Other references are not resolved. */
  #find(reference: string): JsonObject {
    if (reference === "#") return this.#root;
    if (!reference.startsWith("#/")) return {};
    let found: unknown = this.#root;
    for (const part of reference.slice(2).split("/")) {
      const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return isObject(found) ? found : {};
  }
}

function hasForm(schema: JsonObject): boolean {
  return ["type", "properties", "items", "enum", "const", "oneOf", "anyOf"].some((keyword) => keyword in schema);
}

function join(one: JsonObject, other: JsonObject): JsonObject {
  const required = [one.required, other.required].filter(Array.isArray).flat();
  const properties = { ...(other.properties as JsonObject), ...(one.properties as JsonObject) };
  return { ...other, ...one, properties, ...(required.length > 0 && { required }) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the type of a schema, ignoring "null" beside another type. The type of objects and lists can be implicit. */
function typeOf({ type, properties, items }: JsonObject): unknown {
  const types = Array.isArray(type) ? type.filter((each) => each !== "null") : [type];
  if (types.length > 1) return undefined;
  return types[0] ?? (properties ? "object" : items ? "array" : undefined);
}

/** Returns the choices of `enum`, or of alternatives that are constants, with their titles. */
function choicesOf({ enum: values, enumNames, oneOf, anyOf }: JsonObject): readonly Choice[] | undefined {
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, at) => ({ value, title: textOf(names[at]) ?? showValue(value) }));
  }
  const options = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : [];
  const constants = options.filter((option): option is JsonObject => isObject(option) && "const" in option);
  if (constants.length === 0 || constants.length < options.length) return undefined;
  return constants.map(({ const: value, title, description }) => ({
    value,
    title: textOf(title) ?? textOf(description) ?? showValue(value),
  }));
}

function showValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function membersOf({ properties, required }: JsonObject): readonly FieldMember[] {
  if (!isObject(properties)) return [];
  const names = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: isObject(schema) ? schema : {},
    isRequired: names.includes(name),
  }));
}

function stringField({ format, contentEncoding, maxLength, pattern, writeOnly }: JsonObject) {
  if (contentEncoding === "base64" || format === "byte" || format === "binary") return { kind: "file" } as const;
  const input = writeOnly === true || format === "password" ? "password" : INPUTS[String(format)];
  const isShort = typeof maxLength === "number" && maxLength <= LINE_LENGTH;
  return { kind: "text", input: input ?? "text", isLong: !(input || format || pattern || isShort) } as const;
}

function numberField({ type, minimum, maximum }: JsonObject) {
  return {
    kind: "number",
    isInteger: type === "integer" || (Array.isArray(type) && type.includes("integer")),
    ...(typeof minimum === "number" && { min: minimum }),
    ...(typeof maximum === "number" && { max: maximum }),
  } as const;
}
