/**
 * Schemas as the kit sees them: anything that implements Standard Schema (to validate) together with Standard JSON
 * Schema (to show clients). No validator library is imported here.
 *
 * @module
 * @see https://standardschema.dev and https://standardschema.dev/json-schema
 */
import { encodeText } from "./bytes.ts";
import { KitError, McpError, ToolError } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";
import { printable } from "./quote.ts";

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

/** Standard Schema, version 1: what validates. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The members that Standard Schema defines. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** Standard JSON Schema, version 1: what describes itself to clients. */
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

type Standard<S> = S extends SchemaPair ? S["schema"] : S;
type TypesOf<S> = Standard<S> extends StandardSchema ? NonNullable<Standard<S>["~standard"]["types"]> : never;

/** The type a schema accepts. */
export type InferInput<S> = TypesOf<S>["input"];
/** The type a schema yields, defaults filled in. */
export type InferOutput<S> = TypesOf<S>["output"];

/** A schema made ready: the JSON Schema a client sees, and the check. */
export interface CompiledSchema {
  readonly json: JsonObject;
  validate(value: unknown): SchemaResult<unknown> | Promise<SchemaResult<unknown>>;
}

/**
 * Makes a schema ready for use; runs where the tool is defined, so that a schema which cannot be shown fails there.
 *
 * A root that has keywords of objects and no `type` is an object: clients are shown the type, and it is checked.
 *
 * @param place What the schema belongs to, for the error text, such as `input of tool "add"`.
 * @param direction `input` is what a peer sends. An exception that the validator throws at it is a misfit.
 * @throws {KitError} `schema-unsupported` when there is no way to validate or to show it.
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

function readSchema(place: string, given: AnySchema, direction: "input" | "output"): CompiledSchema {
  if (isObject(given) && "schema" in given && "jsonSchema" in given) {
    const pair = given as unknown as SchemaPair;
    return { json: pair.jsonSchema, validate: (value) => pair.schema["~standard"].validate(value) };
  }
  const standard = (given as Partial<StandardSchema & StandardJsonSchema> | null | undefined)?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new KitError(
      "schema-unsupported",
      `The ${place} is not a Standard Schema. Pass a zod, valibot or arktype schema, or wrap raw JSON Schema in jsonSchema() from "mcp-edge/json-schema".`,
    );
  }
  if (typeof standard.jsonSchema?.[direction] !== "function") {
    throw new KitError(
      "schema-unsupported",
      `The ${place} (${standard.vendor}) validates but cannot show itself as JSON Schema. Pass { schema, jsonSchema } instead.`,
    );
  }
  const { validate, jsonSchema } = standard;
  try {
    return { json: jsonSchema[direction]({ target: "draft-2020-12" }), validate: (value) => validate(value) };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new KitError("schema-unsupported", `The ${place} cannot be shown as JSON Schema: ${why}`, { cause });
  }
}

/** Keywords that say something of objects only. */
const OBJECT_KEYWORDS =
  /^(properties|required|(additional|pattern|unevaluated|min|max)Properties|propertyNames|dependent(Required|Schemas))$/;

function isUntypedObject(json: JsonObject): boolean {
  return (
    isObject(json) && json.type === undefined && Object.keys(json).some((keyword) => OBJECT_KEYWORDS.test(keyword))
  );
}

/**
 * Validates what a peer sent. A validator that throws is taken to have refused the value. Its exception is dropped, because
 * it may reveal the inside of the program; a ToolError or McpError that an author throws is passed on.
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

/** Issues that one text names: a list of 100,000 wrong entries is one mistake. */
const ISSUES_MAX = 20;
/** Bytes that issues take as JSON. What is said around them, and their number, has the rest of 4 KiB. */
const ISSUES_BYTES_MAX = 4096 - 256;
/** Characters of one issue's path and of its message: both may repeat what the peer sent, which may be megabytes. */
const [PATH_MAX, MESSAGE_MAX] = [200, 2000];

/**
 * `path.to[0].field: message`, joined by "; ". What a peer reads when its value does not fit: at most 20 issues and
 * 4 KiB, then the number of the others.
 */
export function describeIssues(issues: readonly SchemaIssue[], root = "value"): string {
  const shown: string[] = [];
  let bytes = 0;
  for (const issue of issues.slice(0, ISSUES_MAX)) {
    // Names and messages repeat what the peer has sent.
    let text = printable(`${cut(formatPath(issue, root), PATH_MAX)}: ${cut(issue.message, MESSAGE_MAX)}`);
    // The first one is shown in any case, as far as there is room.
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
