/**
 * Schemas as the kit sees them: anything that implements Standard Schema (to validate) together with Standard JSON
 * Schema (to show clients). No validator library is imported here.
 *
 * @module
 * @see https://standardschema.dev and https://standardschema.dev/json-schema
 */
import { KitError } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";
import { printable } from "./quote.ts";

/** One thing that does not fit. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** Standard Schema, version 1: what validates. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** Standard JSON Schema, version 1: what describes itself to clients. */
export interface StandardJsonSchema {
  readonly "~standard": {
    readonly jsonSchema: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
      readonly output: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** A Standard Schema with its JSON Schema beside it, for libraries that cannot describe themselves. */
export interface SchemaPair<Input = unknown, Output = Input> {
  readonly schema: StandardSchema<Input, Output>;
  readonly jsonSchema: Record<string, unknown>;
}

/** What `input` and `output` take. Raw JSON Schema comes in through `jsonSchema()` of `mcp-edge/json-schema`. */
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
 * @param place What the schema belongs to, for the error text, such as `input of tool "add"`.
 * @throws {KitError} `schema-unsupported` when there is no way to validate or to show it.
 */
export function compileSchema(place: string, given: AnySchema, direction: "input" | "output"): CompiledSchema {
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

/** `path.to[0].field: message`, joined by "; ". What a peer reads when its value does not fit. */
export function describeIssues(issues: readonly SchemaIssue[], root = "value"): string {
  // Names and messages repeat what the peer has sent.
  return printable(issues.map((issue) => `${formatPath(issue, root)}: ${issue.message}`).join("; "));
}

function formatPath(issue: SchemaIssue, root: string): string {
  let path = "";
  for (const step of issue.path ?? []) {
    const key = typeof step === "object" ? step.key : step;
    path += typeof key === "number" ? `[${key}]` : path === "" ? String(key) : `.${String(key)}`;
  }
  return path === "" ? root : path;
}
