/**
 * The schemas that the kit accepts: anything that implements Standard Schema (to validate) and Standard JSON Schema (to
 * show clients). No validator library is imported here.
 *
 * @module
 * @see https://standardschema.dev and https://standardschema.dev/json-schema
 */
import { encodeText } from "../basics/bytes.ts";
import { printable } from "../basics/quote.ts";
import { KitError, McpError, ToolError } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";

/** One reason why a value does not fit a schema. */
export interface SchemaIssue {
  /** A text for people. */
  readonly message: string;
  /** The place in the value: names and indexes from the root on. */
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/** The outcome of a validation: the value, or what does not fit. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** Standard Schema, version 1: a schema that validates values. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The members that Standard Schema defines. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** Standard JSON Schema, version 1: a schema that can describe itself to clients. */
export interface StandardJsonSchema {
  /** The members that Standard JSON Schema defines. */
  readonly "~standard": {
    readonly jsonSchema: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
      readonly output: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** A Standard Schema and its JSON Schema, for libraries whose schemas cannot describe themselves. */
export interface SchemaPair<Input = unknown, Output = Input> {
  /** Validates values. */
  readonly schema: StandardSchema<Input, Output>;
  /** The JSON Schema that clients are shown. */
  readonly jsonSchema: Record<string, unknown>;
}

/** A schema that `input` and `output` accept. For raw JSON Schema use `jsonSchema()` of `mcp-edge/json-schema`. */
export type AnySchema<Input = unknown, Output = Input> =
  | (StandardSchema<Input, Output> & StandardJsonSchema)
  | SchemaPair<Input, Output>;

/** The schema that validates: the schema itself, or that of a pair. */
export type SchemaOf<S> = S extends SchemaPair ? S["schema"] : S;

/** The type a schema accepts. */
export type InferInput<S> =
  SchemaOf<S> extends StandardSchema ? NonNullable<SchemaOf<S>["~standard"]["types"]>["input"] : never;
/** The type a schema yields, defaults filled in. */
export type InferOutput<S> =
  SchemaOf<S> extends StandardSchema ? NonNullable<SchemaOf<S>["~standard"]["types"]>["output"] : never;

/** A compiled schema: the JSON Schema that clients see, and the validation. */
export interface CompiledSchema {
  readonly json: JsonObject;
  validate(value: unknown): SchemaResult<unknown> | Promise<SchemaResult<unknown>>;
}

/**
 * Compiles a schema. This happens when a tool is defined, so that an unusable schema fails there.
 *
 * A root with object keywords and no `type` is treated as an object: the type is shown to clients and checked.
 *
 * @param place The owner of the schema, for the error text, such as `input of tool "add"`.
 * @param direction `input` for values that a peer sends. An exception of the validator then counts as a failed
 *   validation.
 * @throws {KitError} `schema-unsupported` if the schema cannot validate, or cannot be shown as JSON Schema.
 */
export function compileSchema(place: string, given: AnySchema, direction: "input" | "output"): CompiledSchema {
  const { json, validate } = readSchema(place, given, direction);
  const check: CompiledSchema["validate"] = direction === "input" ? (value) => guarded(validate, value) : validate;
  if (!isUntypedObject(json)) return { json, validate: check };
  return {
    json: { type: "object", ...json },
    validate: (value) => (isObject(value) ? check(value) : misfit("it is not an object")),
  };
}

/**
 * The JSON Schemas of schemas that were compiled before. `defineTool`, `server.add` and `server.mount` compile a tool
 * each, and the conversion takes most of the start of a Worker.
 */
const SHOWN = { input: new WeakMap<object, JsonObject>(), output: new WeakMap<object, JsonObject>() };

function readSchema(place: string, given: AnySchema, direction: "input" | "output"): CompiledSchema {
  if (isObject(given) && "schema" in given && "jsonSchema" in given) {
    const pair = given as unknown as SchemaPair;
    return { json: pair.jsonSchema, validate: (value) => pair.schema["~standard"].validate(value) };
  }
  const standard = (given as Partial<StandardSchema & StandardJsonSchema> | null | undefined)?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new KitError(
      "schema-unsupported",
      `The ${place} is not a Standard Schema. Pass a zod, valibot or arktype schema, or jsonSchema() from "mcp-edge/json-schema".`,
    );
  }
  if (typeof standard.jsonSchema?.[direction] !== "function") {
    throw new KitError(
      "schema-unsupported",
      `The ${place} (${standard.vendor}) cannot be shown as JSON Schema: pass { schema, jsonSchema }.`,
    );
  }
  const { validate, jsonSchema } = standard;
  try {
    const shown = SHOWN[direction];
    const json = shown.get(standard) ?? jsonSchema[direction]({ target: "draft-2020-12" });
    shown.set(standard, json);
    return { json, validate };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new KitError("schema-unsupported", `The ${place} cannot be shown as JSON Schema: ${why}`, { cause });
  }
}

/** Keywords that apply to objects only. */
const OBJECT_KEYWORDS =
  /^(properties|required|(additional|pattern|unevaluated|min|max)Properties|propertyNames|dependent(Required|Schemas))$/;

function isUntypedObject(json: JsonObject): boolean {
  return (
    isObject(json) && json.type === undefined && Object.keys(json).some((keyword) => OBJECT_KEYWORDS.test(keyword))
  );
}

/**
 * Validates a peer's value. An exception of the validator refuses the value. Its text is dropped because it may reveal
 * internals, but a ToolError or McpError is passed on, because authors throw those for the client.
 */
function guarded(validate: CompiledSchema["validate"], value: unknown): ReturnType<CompiledSchema["validate"]> {
  const failed = (error: unknown) => {
    if (McpError.is(error) || ToolError.is(error)) throw error;
    return misfit("it could not be checked");
  };
  try {
    const outcome = validate(value);
    return outcome instanceof Promise ? outcome.catch(failed) : outcome;
  } catch (error) {
    return failed(error);
  }
}

function misfit(message: string): SchemaResult<never> {
  return { issues: [{ message }] };
}

/**
 * The maximum number of issues that one text lists. A list of 100,000 wrong entries is usually one mistake.
 * @limit count Problems of arguments that one error names. The error says how many more there are.
 */
const ISSUES_MAX = 20;
/**
 * The maximum number of bytes that the issues take as JSON. The rest of 4 KiB is for the text around them.
 * @limit internal
 */
const ISSUES_BYTES_MAX = 4096 - 256;
/**
 * The maximum number of characters of an issue's path and of its message. Both may repeat a peer's value of megabytes.
 */
const [PATH_MAX, MESSAGE_MAX] = [200, 2000];

/**
 * Describes for the peer why its value does not fit: `path.to[0].field: message`, joined by "; ". Lists at most 20
 * issues in 4 KiB, and then the number of the others.
 */
export function describeIssues(issues: readonly SchemaIssue[], root = "value"): string {
  const shown: string[] = [];
  let bytes = 0;
  for (const issue of issues.slice(0, ISSUES_MAX)) {
    // Paths and messages may repeat a text of the peer.
    let text = printable(`${cut(formatPath(issue, root), PATH_MAX)}: ${cut(issue.message, MESSAGE_MAX)}`);
    // The first issue is always shown, shortened if necessary.
    while (shown.length === 0 && jsonBytes(text) > ISSUES_BYTES_MAX) text = cut(text, text.length >> 1);
    bytes += jsonBytes(text);
    if (bytes > ISSUES_BYTES_MAX) break;
    shown.push(text);
  }
  const others = issues.length - shown.length;
  return (others > 0 ? [...shown, `and ${others} more`] : shown).join("; ");
}

function jsonBytes(text: string): number {
  return encodeText(JSON.stringify(text)).length;
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}...` : text;
}

function formatPath(issue: SchemaIssue, root: string): string {
  let path = "";
  for (const step of issue.path ?? []) {
    const key = typeof step === "object" ? step.key : step;
    path += typeof key === "number" ? `[${key}]` : path === "" ? String(key) : `.${String(key)}`;
  }
  return path === "" ? root : path;
}
