/**
 * The arguments of a tool as command-line options: derived from its input schema, and converted to the types of the schema.
 *
 * @module
 */
import { Command, Option } from "commander";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { findTarget } from "../../lock/schema-pointer.ts";
import { usageError } from "../exit.ts";
import { oneLine } from "../terminal/terminal.ts";

/** The type to which an option's value is converted. `json` stands for objects and all other types. */
export type ArgumentKind = "string" | "number" | "integer" | "boolean" | "json";

/** An argument of a tool or prompt. */
export interface Argument {
  /** The name of the property. */
  readonly name: string;
  readonly kind: ArgumentKind;
  readonly isList: boolean;
  readonly isRequired: boolean;
  /** Whether null is allowed. It is written as `null`. */
  readonly isNullable: boolean;
  readonly description: string;
  /** The allowed values, if the schema lists them. */
  readonly choices?: readonly unknown[] | undefined;
  readonly default?: unknown;
}

/** Returns the arguments that an input schema describes, in the schema's order; an empty list if it is not a schema. */
export function listArguments(inputSchema: unknown): Argument[] {
  const schema = isObject(inputSchema) ? inputSchema : {};
  const whole = resolve(schema, schema);
  const properties = isObject(whole.properties) ? whole.properties : {};
  const required = Array.isArray(whole.required) ? whole.required : [];
  return Object.entries(properties).map(([name, property]) => {
    return describe(name, required.includes(name), isObject(property) ? property : {}, schema);
  });
}

function describe(name: string, isRequired: boolean, property: JsonObject, root: JsonObject): Argument {
  const { schema, isNullable } = withoutNull(resolve(property, root), root);
  const isList = schema.type === "array";
  const item = isList ? withoutNull(resolve(isObject(schema.items) ? schema.items : {}, root), root).schema : schema;
  const description = [property.description, schema.description, property.title].find(
    (text) => typeof text === "string",
  );
  const choices = Array.isArray(item.enum) ? item.enum : findChoices(item);
  return {
    name,
    kind: detectKind(item),
    isList,
    isRequired,
    isNullable,
    description: description === undefined ? "" : oneLine(String(description), 300),
    choices: choices ?? (item.const === undefined ? undefined : [item.const]),
    default: property.default ?? schema.default,
  };
}

/** Returns the values of choices with titles, which a schema describes as `oneOf` or `anyOf` with `const`. */
function findChoices({ oneOf, anyOf }: JsonObject): unknown[] | undefined {
  const options = oneOf ?? anyOf;
  if (!Array.isArray(options) || options.length === 0) return undefined;
  const values = options.map((option) => (isObject(option) ? option.const : undefined));
  return values.includes(undefined) ? undefined : values;
}

/** Follows references within the schema, at most eight in a row, so that a cycle ends. */
function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let at = schema;
  for (let steps = 0; steps < 8 && typeof at.$ref === "string"; steps += 1) {
    const { $ref, ...rest } = at;
    const found = findTarget($ref, root);
    at = { ...(isObject(found) ? found : {}), ...rest };
  }
  return at;
}

/** Removes the type null from a schema. */
function withoutNull(schema: JsonObject, root: JsonObject): { schema: JsonObject; isNullable: boolean } {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    const isNullable = types.length < schema.type.length;
    return { schema: { ...schema, type: types.length === 1 ? types[0] : undefined }, isNullable };
  }
  const options = Array.isArray(schema.anyOf) ? schema.anyOf : schema.oneOf;
  if (!Array.isArray(options)) return { schema, isNullable: false };
  const others = options.filter((option) => !isObject(option) || option.type !== "null");
  if (others.length !== 1 || others.length === options.length)
    return { schema, isNullable: others.length < options.length };
  return { schema: resolve(isObject(others[0]) ? others[0] : {}, root), isNullable: true };
}

function detectKind({ type, enum: choices, oneOf, anyOf }: JsonObject): ArgumentKind {
  if (type === "string" || type === "number" || type === "integer" || type === "boolean") return type;
  const listed = Array.isArray(choices) ? choices : findChoices({ oneOf, anyOf });
  return listed?.every((choice) => typeof choice === "string") ? "string" : "json";
}

/** An option whose value is stored under the exact name of the property. Commander would convert the name to camel case. */
class ArgumentOption extends Option {
  readonly argument: Argument;

  constructor(flags: string, argument: Argument, description: string) {
    super(flags, description);
    this.argument = argument;
  }

  override attributeName(): string {
    return this.argument.name;
  }
}

/** Matches names that can be options. Other arguments must be passed with --json-args. */
const OPTION_NAME = /^[A-Za-z0-9_][\w.:-]*$/;

/**
 * Returns a command whose options are the arguments of a tool or prompt.
 *
 * @param title The command shown in its help, such as `mcp-edge call <server> add`.
 * @param taken The names of mcp-edge's own options. An argument with such a name gets the prefix `arg-`.
 */
export function commandFor(title: string, args: readonly Argument[], taken: readonly string[]): Command {
  const command = new Command(title).usage("[options] [-]").argument("[-]").allowExcessArguments(false);
  command
    .helpOption("-h, --help", "show this help")
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  for (const argument of args) {
    if (!OPTION_NAME.test(argument.name)) continue;
    for (const option of listOptions(argument, createFlag(argument.name, taken))) command.addOption(option);
  }
  return command;
}

/** Returns the name of the option for an argument. */
export function createFlag(name: string, taken: readonly string[]): string {
  return taken.includes(name) || /^(no-|arg-)/.test(name) ? `arg-${name}` : name;
}

function listOptions(argument: Argument, flag: string): Option[] {
  const { kind, isList, description } = argument;
  const words = [description, argument.isRequired ? "(required)" : "", findDefault(argument)].filter(Boolean).join(" ");
  const value = valueName(argument);
  if (kind === "boolean" && !isList) {
    const on = new ArgumentOption(`--${flag} [boolean]`, argument, words);
    const off = new ArgumentOption(`--no-${flag}`, argument, "").hideHelp().preset("false");
    // Both options store a string under the name of the argument.
    off.negate = false;
    return [on, off];
  }
  const option = new ArgumentOption(`--${flag} <${value}${isList ? "..." : ""}>`, argument, words);
  return [option];
}

function findDefault(argument: Argument): string {
  return argument.default === undefined ? "" : `(default: ${oneLine(JSON.stringify(argument.default), 60)})`;
}

function valueName({ kind, choices, isNullable }: Argument): string {
  const listed = choices?.map((choice) => (typeof choice === "string" ? choice : JSON.stringify(choice))).join("|");
  const name = listed !== undefined && listed.length <= 60 ? oneLine(listed, 60) : kind;
  return isNullable ? `${name}|null` : name;
}

/**
 * Converts the parsed options to argument values.
 *
 * @throws {CliError} naming the option and its allowed values.
 */
export function readValues(
  args: readonly Argument[],
  parsed: Readonly<Record<string, unknown>>,
  taken: readonly string[],
): JsonObject {
  const given = args.filter(({ name }) => Object.hasOwn(parsed, name) && parsed[name] !== undefined);
  return Object.fromEntries(
    given.map((argument) => {
      const flag = `--${createFlag(argument.name, taken)}`;
      const text = parsed[argument.name];
      return [argument.name, argument.isList ? toList(argument, flag, text) : convert(argument, flag, String(text))];
    }),
  );
}

function toList(argument: Argument, flag: string, texts: unknown): unknown {
  const list = [texts].flat().map(String);
  const [only = ""] = list;
  if (list.length === 1 && argument.isNullable && only === "null") return null;
  if (list.length === 1 && only.startsWith("[")) {
    const whole = parseJson(only);
    if (Array.isArray(whole)) return whole;
  }
  return list.map((text) => convert({ ...argument, isNullable: false }, flag, text));
}

function convert(argument: Argument, flag: string, text: string): unknown {
  const { kind, choices, isNullable } = argument;
  if (isNullable && text === "null") return null;
  if (choices) {
    const found = choices.find((choice) => text === (typeof choice === "string" ? choice : JSON.stringify(choice)));
    if (found !== undefined) return found;
    throw usageError(
      `${flag}: ${quoted(text)} is not one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}.`,
    );
  }
  if (kind === "string") return text;
  if (kind === "boolean") {
    if (text === "true" || text === "false") return text === "true";
    throw usageError(`${flag}: ${quoted(text)} is neither true nor false.`);
  }
  if (kind === "json") {
    const value = parseJson(text);
    if (value !== undefined) return value;
    throw usageError(`${flag}: ${quoted(text)} is not JSON. A string needs quotes: '"text"'.`);
  }
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(number) && (kind === "number" || Number.isInteger(number))) return number;
  throw usageError(`${flag}: ${quoted(text)} is not ${kind === "integer" ? "an integer" : "a number"}.`);
}

function quoted(text: string): string {
  return JSON.stringify(oneLine(text, 60));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses arguments from a JSON object.
 *
 * @throws {CliError} naming the source, if it is not a JSON object.
 */
export function readJsonArguments(text: string, source: string): JsonObject {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw usageError(`${source}: the arguments must be a JSON object, such as '{"name": "value"}'.`);
}
