/** Validates the bodies of requests against the schemas of the description with another implementation, ajv. */
import { Ajv } from "ajv";
import type { Description } from "../../packages/openapi/src/document.ts";
import { exampleArguments, expectedRequest } from "../../packages/openapi/src/examples.ts";
import type { Tool } from "../../packages/openapi/src/tools.ts";

/** How many of the example bodies are valid, and the first reasons why others are not. */
export interface Validated {
  readonly valid: number;
  readonly all: number;
  readonly reasons: readonly string[];
}

/** Validates the example body of each tool that sends JSON. */
export function validateBodies(description: Description, tools: readonly Tool[]): Validated {
  const ajv = new Ajv({ strict: false, validateSchema: false, validateFormats: false, logger: false, allErrors: true });
  for (const [file, tree] of description.files.all()) ajv.addSchema(forAjv(tree) as object, absolute(file));
  const reasons: string[] = [];
  let [valid, all] = [0, 0];
  for (const tool of tools) {
    const { body } = tool.operation;
    const { json } = expectedRequest(tool, "https://api.example.com", exampleArguments(tool));
    if (body?.type !== "json" || json === undefined) continue;
    all += 1;
    const problem = validate(ajv, body.schema, json);
    if (problem === undefined) valid += 1;
    else reasons.push(`${tool.name}: ${problem}`);
  }
  return { valid, all, reasons };
}

/**
 * Removes what ajv does not accept: the booleans and `nullable` without a type of OpenAPI 3.0. Patterns are removed too, because
 * examples are not made to match them.
 */
function forAjv(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forAjv);
  if (typeof value !== "object" || value === null) return value;
  const own = value as Readonly<Record<string, unknown>>;
  const isRemoved = (name: string) =>
    (name === "pattern" && typeof own.pattern === "string") ||
    (/^exclusive(Min|Max)imum$/.test(name) && typeof own[name] === "boolean") ||
    (name === "nullable" && own.type === undefined);
  const kept = Object.entries(own).filter(([name]) => !isRemoved(name));
  return Object.fromEntries(
    kept.map(([name, each]) => [name, name === "$ref" && typeof each === "string" ? absolute(each) : forAjv(each)]),
  );
}

/** ajv resolves names of files relative to each other, but those of a description are relative to its folder. */
function absolute(file: string): string {
  return /^https?:/.test(file) ? file : `https://local.invalid/${file}`;
}

function validate(ajv: Ajv, schema: unknown, value: unknown): string | undefined {
  try {
    const check = ajv.compile(forAjv(schema) as object);
    if (check(value)) return undefined;
    return check.errors?.map(({ instancePath, message = "" }) => `${instancePath} ${message}`)[0];
  } catch (error) {
    return `the schema is not valid: ${(error as Error).message}`;
  }
}
