/**
 * Lets the user fill in a server's form in the terminal, field by field.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, "Form Mode"
 */
import type { ElicitRequestFormParams } from "../../client/index.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { askChoice, askChoices, askText, type Choice } from "./ask.ts";
import { oneLine } from "./terminal.ts";

/** The maximum number of characters of the server's name before each field. */
const SERVER_CHARS_MAX = 40;

type Value = string | number | boolean | readonly string[];

/** A field of a form. */
interface Field {
  readonly schema: JsonObject;
  readonly label: string;
  readonly isRequired: boolean;
}

/** The outcome of a field: a value, undefined if the user left it out, or "cancelled" if the user cancelled the form. */
type Filled = { readonly value: Value | undefined } | "cancelled";

/**
 * Asks for each field of a form. Returns undefined if the user cancels it.
 *
 * @param server The name by which the user called the server. It is shown before each field, so that the user knows who receives
 * the answer.
 */
export async function fillIn(
  { requestedSchema }: ElicitRequestFormParams,
  server: string,
  signal: AbortSignal,
): Promise<Record<string, Value> | undefined> {
  const content: Record<string, Value> = {};
  const { properties = {}, required = [] } = requestedSchema;
  for (const [name, schema] of Object.entries(properties)) {
    if (!isObject(schema)) continue;
    const isRequired = required.includes(name);
    const filled = await fillField(
      { schema, isRequired, label: `${oneLine(server, SERVER_CHARS_MAX)}: ${createLabel(name, schema, isRequired)}` },
      signal,
    );
    if (filled === "cancelled") return undefined;
    if (filled.value !== undefined) content[name] = filled.value;
  }
  return content;
}

function createLabel(name: string, { title, description }: JsonObject, isRequired: boolean): string {
  const heading = oneLine(typeof title === "string" ? title : name);
  const more = typeof description === "string" ? `: ${oneLine(description, 200)}` : "";
  return `${heading}${isRequired ? "" : " (optional)"}${more}`;
}

async function fillField(field: Field, signal: AbortSignal): Promise<Filled> {
  const { schema } = field;
  if (schema.type === "array") return fillChoices(field, signal);
  const choices = schema.type === "boolean" ? BOOLEANS : findChoices(schema);
  if (choices) return fillChoice(field, choices, signal);
  return fillText(field, signal);
}

const BOOLEANS: readonly Choice<Value>[] = [
  { value: true, label: "Yes" },
  { value: false, label: "No" },
];

/** The value of the choice to leave a field out. */
const LEFT_OUT = Symbol("left out");

async function fillChoice(
  { schema, label, isRequired }: Field,
  choices: readonly Choice<Value>[],
  signal: AbortSignal,
): Promise<Filled> {
  const none: readonly Choice<typeof LEFT_OUT>[] = isRequired ? [] : [{ value: LEFT_OUT, label: "(leave out)" }];
  const chosen = await askChoice<Value | typeof LEFT_OUT>(
    label,
    [...choices, ...none],
    signal,
    // Enter alone must not agree to anything.
    (schema.default ?? (schema.type === "boolean" ? false : undefined)) as Value,
  );
  if (chosen === undefined) return "cancelled";
  return { value: chosen === LEFT_OUT ? undefined : chosen };
}

async function fillChoices({ schema, label, isRequired }: Field, signal: AbortSignal): Promise<Filled> {
  const choices = (findChoices(isObject(schema.items) ? schema.items : {}) ?? []) as readonly Choice<string>[];
  const initial = Array.isArray(schema.default) ? (schema.default as string[]) : [];
  const chosen = await askChoices(label, choices, signal, {
    initial,
    isRequired: isRequired || Number(schema.minItems) > 0,
  });
  if (chosen === undefined) return "cancelled";
  return { value: chosen.length === 0 && !isRequired ? undefined : chosen };
}

/** Returns the choices of a field: from `oneOf` or `anyOf` with titles, or from `enum`, in older versions with `enumNames`. */
function findChoices({ oneOf, anyOf, enum: values, enumNames }: JsonObject): Choice<Value>[] | undefined {
  const titled = oneOf ?? anyOf;
  if (Array.isArray(titled)) {
    return titled.filter(isObject).map((each) => choice(each.const as Value, each.title));
  }
  if (!Array.isArray(values)) return undefined;
  const names: readonly unknown[] = Array.isArray(enumNames) ? enumNames : [];
  return values.map((value, index) => choice(value as Value, names[index]));
}

function choice(value: Value, title: unknown): Choice<Value> {
  return { value, label: oneLine(typeof title === "string" ? title : String(value)) };
}

async function fillText({ schema, label, isRequired }: Field, signal: AbortSignal): Promise<Filled> {
  const initial = schema.default === undefined ? undefined : oneLine(schema.default, 1_000);
  const check = (text: string) => {
    if (text === "")
      return isRequired && schema.type !== "string" ? "This field is required." : checkLength(schema, text, isRequired);
    return schema.type === "string" ? checkText(schema, text) : checkNumber(schema, text);
  };
  const text = await askText(label, signal, { initial, check });
  if (text === undefined) return "cancelled";
  if (text === "" && !isRequired) return { value: undefined };
  return { value: schema.type === "string" ? text : Number(text) };
}

function checkLength(schema: JsonObject, text: string, isRequired: boolean): string | undefined {
  return isRequired ? checkText(schema, text) : undefined;
}

/** Approximate patterns of the formats that forms may use. The server validates the value exactly. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  email: /^[^\s@]+@[^\s@]+$/,
  uri: /^[a-z][a-z\d+.-]*:\S+$/i,
  date: /^\d{4}-\d\d-\d\d$/,
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i,
};

function checkText(
  { minLength = 0, maxLength = Number.POSITIVE_INFINITY, format }: JsonObject,
  text: string,
): string | undefined {
  const { length } = [...text];
  if (length < Number(minLength)) return `Write at least ${minLength} characters.`;
  if (length > Number(maxLength)) return `Write at most ${maxLength} characters.`;
  const form = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  return form && !form.test(text) ? `This is not in the format ${format}.` : undefined;
}

function checkNumber(schema: JsonObject, text: string): string | undefined {
  const { type, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) return "Write a number.";
  if (type === "integer" && !Number.isInteger(number)) return "Write an integer.";
  if (number < Number(minimum)) return `Write at least ${minimum}.`;
  return number > Number(maximum) ? `Write at most ${maximum}.` : undefined;
}
