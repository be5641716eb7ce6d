/**
 * Files as arguments of tools: their description in the schema, and the value that a handler receives.
 *
 * @module
 */
import { checkOptions, type OptionTable, SIZE } from "../core/protocol/check-options.ts";
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import {
  type AnySchema,
  compileSchema,
  type InferInput,
  type InferOutput,
  type SchemaIssue,
  type SchemaResult,
  type StandardJsonSchema,
  type StandardSchema,
} from "../core/protocol/schema.ts";
import { ARGUMENT_BYTES_MAX, isDataUrl } from "./data-url.ts";
import { formatBytes } from "./format-bytes.ts";
import { isCheckable, plainType } from "./media-types.ts";

/** Options of {@link file}. */
export interface FileOptions {
  /**
   * The accepted media types, such as `["text/csv"]` or `["image/*"]`. The content of the file must fit one of them. To accept
   * content that is not checked, write `application/octet-stream`.
   *
   * @default all types that can be checked, and all other content as application/octet-stream
   */
  readonly types?: readonly string[];
  /** The maximum number of bytes. @default 10 MB */
  readonly bytesMax?: number;
  /** What the file is for, for the model and for the user who is asked for it. */
  readonly description?: string;
  /** Whether the handler also runs without the file. @default false: the user is asked for it */
  readonly optional?: boolean;
}

const OPTIONS: OptionTable<FileOptions> = { types: null, bytesMax: SIZE, description: null, optional: null };

/** What an argument accepts. */
export interface FileRules {
  /** The accepted media types. Undefined for all. */
  readonly types?: readonly string[] | undefined;
  /** The maximum number of bytes. */
  readonly bytesMax: number;
  /** What the file is for. */
  readonly description?: string | undefined;
}

/** A file in the schema of a tool, as {@link file} creates it. `Value` is what the handler receives. */
export interface FileField<Value = FileArgument> {
  /** What the argument accepts. */
  readonly rules: FileRules;
  /** Whether the handler also runs without the file. */
  readonly isOptional: boolean;
  /** Declares the type of the value. Only the type has this member. */
  readonly value?: Value;
}

/** A file that a call refers to. `store.open(argument, ctx)` returns its content. */
export class FileArgument {
  /** The name of the argument. */
  readonly name: string;
  /** The string that the client has sent: an id, a URL or a path. Undefined if it has sent none. */
  readonly reference: string | undefined;
  /** What the argument accepts. */
  readonly rules: FileRules;

  /** Created when the arguments of a call are checked. */
  constructor(name: string, reference: string | undefined, rules: FileRules) {
    this.name = name;
    this.reference = reference;
    this.rules = rules;
  }
}

/** The maximum length, in characters, of the accepted types as JSON. They are part of each upload link. @limit internal */
const TYPES_CHARS_MAX = 1_000;

/** The default maximum number of bytes of a file. */
const BYTES = 10_000_000;

/**
 * Describes a file in the schema of a tool: see {@link withFiles}.
 *
 * @throws {KitError} `options-invalid` naming the option, such as a media type whose content cannot be checked.
 */
export function file(options: FileOptions & { readonly optional: true }): FileField<FileArgument | undefined>;
export function file(options?: FileOptions): FileField;
export function file(options: FileOptions = {}): FileField<FileArgument | undefined> {
  checkOptions("file(): ", options, OPTIONS);
  const { bytesMax = BYTES, description, optional = false } = options;
  const types = options.types?.map(plainType);
  const unknown = types?.find((type) => !isCheckable(type));
  if (JSON.stringify(types ?? []).length > TYPES_CHARS_MAX) {
    const text = `file(): types have more than ${TYPES_CHARS_MAX} characters. Use families such as "image/*", or fewer types.`;
    throw new KitError("options-invalid", text);
  }
  if (unknown !== undefined || types?.length === 0) {
    const what = unknown === undefined ? "is empty" : `has ${JSON.stringify(unknown)}, whose content cannot be checked`;
    const text = `file(): types ${what}. Use a type that docs/guides/files.md lists, or "application/octet-stream", and check the bytes yourself.`;
    throw new KitError("options-invalid", text);
  }
  return { rules: { types, bytesMax, description }, isOptional: optional };
}

/** The files of a schema, by the name of their argument. */
export type FileFields = Readonly<Record<string, FileField<FileArgument | undefined>>>;

/** The values of {@link FileFields} that a handler receives. */
export type FileValues<Fields extends FileFields> = {
  [Name in keyof Fields]: Fields[Name] extends FileField<infer Value> ? Value : never;
};

/** A schema with files, for the option `input` of a tool. */
export type SchemaWithFiles<S extends AnySchema, Fields extends FileFields> = StandardSchema<
  InferInput<S> & { readonly [Name in keyof Fields]?: string },
  InferOutput<S> & FileValues<Fields>
> &
  StandardJsonSchema;

/** The maximum number of characters of a reference that is not a data URL. A link is the longest. @limit internal */
const REFERENCE_MAX = 10_000;

/**
 * Adds files to the schema of a tool's arguments. Clients see each file as a string, which every host can send. The handler
 * receives a {@link FileArgument}.
 *
 * ```ts
 * const input = withFiles(z.object({ month: z.string() }), { report: file({ types: ["text/csv"] }) });
 * server.tool("import", { input }, async ({ report, month }, ctx) => {
 *   const opened = await store.open(report, ctx);
 *   return `${month}: ${(await opened.text()).split("\n").length} lines`;
 * });
 * ```
 *
 * @param schema The schema of the other arguments: an object, of any library that `input` accepts.
 * @throws {KitError} `schema-unsupported` if the schema is not an object with properties, or has a property with the name of
 *   a file.
 */
export function withFiles<const S extends AnySchema, const Fields extends FileFields>(
  schema: S,
  fields: Fields,
): SchemaWithFiles<S, Fields> {
  const { json, validate } = compileSchema("schema of withFiles()", schema, "input");
  const names = Object.keys(fields);
  const { properties = {} } = json;
  const taken = names.find((name) => isObject(properties) && name in properties);
  if (json.type !== "object" || !isObject(properties) || taken !== undefined) {
    const problem = taken === undefined ? "is not an object with properties" : `already has the property "${taken}"`;
    throw new KitError("schema-unsupported", `The schema of withFiles() ${problem}.`);
  }
  const shown = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, describe(field)]));
  const whole = () => ({ ...json, properties: { ...properties, ...shown } });
  return {
    "~standard": {
      version: 1,
      vendor: "mcp-edge",
      validate: async (value: unknown) => check(value, fields, validate),
      jsonSchema: { input: whole, output: whole },
    },
  } as SchemaWithFiles<S, Fields>;
}

/** Checks the other arguments with their own schema, and adds the files to its result. */
async function check(
  value: unknown,
  fields: FileFields,
  validate: (value: unknown) => SchemaResult<unknown> | Promise<SchemaResult<unknown>>,
): Promise<SchemaResult<unknown>> {
  if (!isObject(value)) return { issues: [{ message: "it is not an object" }] };
  const issues: SchemaIssue[] = [];
  const files = Object.entries(fields).map(([name, { rules, isOptional }]) => {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    // Some hosts send null or an empty string for what the model has left out.
    const reference = given === null || given === "" ? undefined : given;
    // A data URL of any length is passed on, because its refusal tells the model how to upload the file.
    const isData = typeof reference === "string" && isDataUrl(reference);
    const isFit = reference === undefined || (typeof reference === "string" && reference.length <= REFERENCE_MAX);
    if (!isData && !isFit)
      issues.push({ path: [name], message: `it is not a string of at most ${REFERENCE_MAX} characters` });
    const isAbsent = reference === undefined && isOptional;
    return [name, isAbsent ? undefined : new FileArgument(name, reference as string | undefined, rules)] as const;
  });
  const others = Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(fields, name)));
  const result = await validate(others);
  if (result.issues) return { issues: [...issues, ...result.issues] };
  if (issues.length > 0) return { issues };
  return { value: { ...(result.value as object), ...Object.fromEntries(files) } };
}

/** The field that each property of a JSON Schema describes, so that a transport can correct the description. */
const described = new WeakMap<object, FileField<FileArgument | undefined>>();

/** What a transport contributes to the descriptions of file arguments. */
export interface Intake {
  /** What a call passes for a file that is not in the arguments themselves. */
  readonly reference: string;
  /** What happens if a call has no file: the end of a sentence. */
  readonly missing: string;
  /** The maximum number of bytes of a file. */
  readonly bytesMax: number;
}

/** The descriptions before a transport has joined. */
const ANY_INTAKE: Intake = {
  reference: "the id of an uploaded file (file_...), or the path of a file",
  missing: "the answer says how to upload it",
  bytesMax: Infinity,
};

/**
 * Corrects the descriptions of files in the JSON Schema of a tool for a transport. The properties are replaced, because tools of
 * other servers may have the same schema.
 */
export function correctDescriptions(json: JsonObject, intake: Intake): void {
  const entries = Object.entries(isObject(json.properties) ? json.properties : {});
  const corrected = entries.map(([name, property]) => {
    const field = isObject(property) ? described.get(property) : undefined;
    return [name, field ? describe(field, intake) : property] as const;
  });
  Object.assign(json, { properties: Object.fromEntries(corrected) });
}

/** Describes a file to the model. */
function describe(field: FileField<FileArgument | undefined>, intake = ANY_INTAKE): JsonObject {
  const { rules, isOptional } = field;
  const { types, description } = rules;
  const size = `at most ${formatBytes(Math.min(rules.bytesMax, intake.bytesMax))}`;
  const accepted = types ? ` (${types.join(", ")}; ${size})` : ` (${size})`;
  const use = `${intake.reference}; or, for at most ${formatBytes(ARGUMENT_BYTES_MAX)}, a data: URL in base64.`;
  const without = isOptional ? "" : ` If you cannot provide it, leave it out: ${intake.missing}.`;
  // Without maxLength, because a host that checks it would hide how a larger file is uploaded.
  const property = { type: "string", description: `${description ?? "A file"}${accepted}: ${use}${without}` };
  described.set(property, field);
  return property;
}
