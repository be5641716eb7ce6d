/**
 * The schemas of elicitation forms: flat objects of strings, numbers, booleans and choices.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, "Requested Schema"
 */
import { pick } from "../protocol/content.ts";
import { KitError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { type AnySchema, type CompiledSchema, compileSchema, describeIssues } from "../protocol/schema.ts";
import type { VersionRules } from "../protocol/versions.ts";

/** The JSON Schema of a form, as the protocol defines it. */
export interface ElicitationSchema {
  /** The type of a form. */
  readonly type: "object";
  /** The fields of the form: strings, numbers, booleans and choices. */
  readonly properties: { readonly [name: string]: JsonObject };
  /** The names of the required fields. @default none */
  readonly required?: readonly string[];
}

export interface CompiledElicitation {
  readonly json: ElicitationSchema;
  readonly standard: CompiledSchema | undefined;
}

const STRING_MEMBERS = [
  "type",
  "title",
  "description",
  "minLength",
  "maxLength",
  "format",
  "default",
  "enum",
  "enumNames",
  "oneOf",
];
const NUMBER_MEMBERS = ["type", "title", "description", "minimum", "maximum", "default"];
const BOOLEAN_MEMBERS = ["type", "title", "description", "default"];
const ARRAY_MEMBERS = ["type", "title", "description", "minItems", "maxItems", "items", "default"];
const FORMATS: readonly unknown[] = ["email", "uri", "date", "date-time"];

/** Compiles the schema of a form. @throws {KitError} `schema-unsupported` naming the property that is not flat. */
export function compileElicitation(given: AnySchema | ElicitationSchema): CompiledElicitation {
  // A zod object has a `type` too, so `type` alone does not decide.
  const isRaw = !("~standard" in given) && !("jsonSchema" in given);
  const standard = isRaw ? undefined : compileSchema("schema of an elicitation", given as AnySchema, "input");
  const json = (standard?.json ?? given) as JsonObject;
  if (json.type !== "object" || !isObject(json.properties)) {
    throw new KitError("schema-unsupported", 'The schema of an elicitation must be an object with "properties".');
  }
  // Assignment would lose a property called "__proto__".
  const properties = Object.fromEntries(
    Object.entries(json.properties).map(([name, property]) => [name, flatProperty(name, property)]),
  );
  const required = Array.isArray(json.required) ? { required: json.required as string[] } : {};
  return { json: { type: "object", properties, ...required }, standard };
}

function flatProperty(name: string, property: unknown): JsonObject {
  if (!isObject(property)) throw notFlat(name, "is not a schema");
  switch (property.type) {
    case "string":
      return pick(FORMATS.includes(property.format) ? property : { ...property, format: undefined }, STRING_MEMBERS);
    case "number":
    case "integer":
      return pick(withoutSafeBounds(property), NUMBER_MEMBERS);
    case "boolean":
      return pick(property, BOOLEAN_MEMBERS);
    case "array":
      if (!isObject(property.items) || !(Array.isArray(property.items.enum) || Array.isArray(property.items.anyOf))) {
        throw notFlat(name, "is an array of something other than choices");
      }
      return pick(property, ARRAY_MEMBERS);
    default:
      throw notFlat(name, `has the type ${JSON.stringify(property.type)}`);
  }
}

/** Schema libraries add the safe integer range to every integer. A form does not need it. */
function withoutSafeBounds(property: JsonObject): JsonObject {
  const { minimum, maximum, ...rest } = property;
  return {
    ...rest,
    ...(minimum === -Number.MAX_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  };
}

function notFlat(name: string, problem: string): KitError {
  return new KitError(
    "schema-unsupported",
    `Elicitation property "${name}" ${problem}. Forms are flat: strings, numbers, booleans, choices.`,
  );
}

/**
 * Converts a form to a protocol version: before 2025-11-25, choices are `enum` with `enumNames`, and only booleans have
 * defaults.
 */
export function shapeElicitation(schema: JsonObject, rules: VersionRules): JsonObject {
  if (rules.elicitationModes || !isObject(schema.properties)) return schema;
  const older = Object.entries(schema.properties).map(([name, property]) => [
    name,
    isObject(property) ? olderProperty(property) : property,
  ]);
  return { ...schema, properties: Object.fromEntries(older) };
}

function olderProperty(property: JsonObject): JsonObject {
  const { oneOf, default: preset, ...rest } = property;
  if (Array.isArray(oneOf)) {
    const choices = oneOf.filter(isObject);
    return {
      ...rest,
      enum: choices.map((choice) => choice.const),
      enumNames: choices.map((choice) => choice.title ?? choice.const),
    };
  }
  return property.type === "boolean" && preset !== undefined ? { ...rest, default: preset } : rest;
}

/** Checks a client's content against the form. `problem` names the field. */
export async function checkElicited(
  { json, standard }: CompiledElicitation,
  content: unknown,
): Promise<{ readonly value?: unknown; readonly problem?: string }> {
  if (standard) {
    const outcome = await standard.validate(content);
    return outcome.issues ? { problem: describeIssues(outcome.issues, "content") } : { value: outcome.value };
  }
  if (!isObject(content)) return { problem: "content is not an object" };
  for (const name of json.required ?? []) if (!Object.hasOwn(content, name)) return { problem: `${name} is missing` };
  for (const [name, property] of Object.entries(json.properties)) {
    const problem = Object.hasOwn(content, name) ? findMisfit(content[name], property) : undefined;
    if (problem) return { problem: `${name} ${problem}` };
  }
  return { value: content };
}

function findMisfit(value: unknown, property: JsonObject): string | undefined {
  switch (property.type) {
    case "string":
      return typeof value === "string" ? findStringMisfit(value, property) : "is not a string";
    case "integer":
      return Number.isSafeInteger(value) ? findNumberMisfit(value as number, property) : "is not a whole number";
    case "number":
      return typeof value === "number" ? findNumberMisfit(value, property) : "is not a number";
    case "boolean":
      return typeof value === "boolean" ? undefined : "is not true or false";
    default:
      return findListMisfit(value, property);
  }
}

function findStringMisfit(value: string, property: JsonObject): string | undefined {
  const choices = findChoices(property);
  if (choices && !choices.includes(value)) return "is not one of the choices";
  if (typeof property.minLength === "number" && value.length < property.minLength)
    return `is shorter than ${property.minLength}`;
  if (typeof property.maxLength === "number" && value.length > property.maxLength)
    return `is longer than ${property.maxLength}`;
  const is = FORMAT_CHECKS[property.format as string];
  return is && !is(value) ? `is not of the format ${property.format}` : undefined;
}

/** These checks are loose on purpose. They refuse only obviously wrong values and leave the rest to the handler. */
const FORMAT_CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time": (text) => /^\d{4}-\d\d-\d\dT/i.test(text) && !Number.isNaN(Date.parse(text)),
};

function findNumberMisfit(value: number, property: JsonObject): string | undefined {
  if (typeof property.minimum === "number" && value < property.minimum) return `is less than ${property.minimum}`;
  if (typeof property.maximum === "number" && value > property.maximum) return `is more than ${property.maximum}`;
  return undefined;
}

function findListMisfit(value: unknown, property: JsonObject): string | undefined {
  if (!Array.isArray(value)) return "is not a list";
  const choices = isObject(property.items) ? findChoices(property.items) : undefined;
  if (choices && !value.every((choice) => choices.includes(choice)))
    return "has a value that is not one of the choices";
  if (typeof property.minItems === "number" && value.length < property.minItems)
    return `has fewer than ${property.minItems} values`;
  if (typeof property.maxItems === "number" && value.length > property.maxItems)
    return `has more than ${property.maxItems} values`;
  return undefined;
}

function findChoices(property: JsonObject): unknown[] | undefined {
  if (Array.isArray(property.enum)) return property.enum;
  const titled = property.oneOf ?? property.anyOf;
  return Array.isArray(titled) ? titled.map((choice) => (isObject(choice) ? choice.const : undefined)) : undefined;
}
