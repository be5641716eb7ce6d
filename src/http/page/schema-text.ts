/**
 * JSON Schema in a few words, for people.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";

/** The number of choices that are listed. A page is no place for a list of countries. */
const CHOICES_SHOWN = 8;

/** Returns the type that a schema describes, in the notation of TypeScript. */
export function typeText(schema: unknown): string {
  if (!isObject(schema)) return "any";
  const { type, items, oneOf, anyOf } = schema;
  const options = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined;
  const constants = schema.enum ?? ("const" in schema ? [schema.const] : undefined);
  if (Array.isArray(constants)) return listed(constants.map((each) => JSON.stringify(each)));
  if (options) return listed(options.map(typeText));
  if (Array.isArray(type)) return listed(type.map(String));
  if (type === "array") {
    const text = typeText(items);
    return text.includes(" ") ? `(${text})[]` : `${text}[]`;
  }
  return typeof type === "string" ? type : "any";
}

function listed(choices: readonly string[]): string {
  const more = choices.length > CHOICES_SHOWN ? [...choices.slice(0, CHOICES_SHOWN), "…"] : choices;
  return [...new Set(more)].join(" | ");
}

/** A member of an object. */
export interface Member {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
}

/** Returns the members that the schema of an object lists. */
export function members({ properties, required }: JsonObject): readonly Member[] {
  if (!isObject(properties)) return [];
  return Object.entries(properties).map(([name, schema]) => {
    const { description, title } = isObject(schema) ? schema : {};
    const text = description ?? title;
    return {
      name,
      type: typeText(schema),
      isRequired: Array.isArray(required) && required.includes(name),
      description: typeof text === "string" ? text : undefined,
    };
  });
}
