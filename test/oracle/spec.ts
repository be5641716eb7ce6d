/**
 * The specification's own JSON Schemas, if they are available. The oracle does not need them: without them `specOf`
 * returns undefined and only the official packages' schemas are used.
 */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Ajv as AjvType, ValidateFunction } from "ajv";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

export type Json = { [key: string]: unknown };

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The folder of the schemas: MCP_SPEC_DIR, else `shared/spec` beside the project. */
export const SPEC_DIR: string = resolve(process.env.MCP_SPEC_DIR ?? join(import.meta.dirname, "../../../shared/spec"));

/** One version's schema, with validators compiled on first use. */
export interface Spec {
  readonly version: string;
  /** JSON pointer prefix of the definitions. */
  readonly root: "#/$defs/" | "#/definitions/";
  readonly defs: Json;
  /** Problems of a value according to the schema at a pointer such as `#/$defs/Tool`. */
  validate(pointer: string, value: unknown): string[];
  has(definition: string): boolean;
}

const loaded = new Map<string, Spec | undefined>();

/** Returns the schema of a version (or "ext-tasks"), or undefined if it is not available. */
export function specOf(version: string): Spec | undefined {
  if (!loaded.has(version)) loaded.set(version, load(version));
  return loaded.get(version);
}

function load(version: string): Spec | undefined {
  const file = join(SPEC_DIR, version, "schema.json");
  if (!existsSync(file)) return undefined;
  const schema: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!isJson(schema)) throw new Error(`${version}/schema.json is not an object`);
  const modernDialect = isJson(schema.$defs);
  const defs = modernDialect ? schema.$defs : schema.definitions;
  if (!isJson(defs)) throw new Error(`${version}/schema.json has no definitions`);
  correctNumbers(defs);

  const options = { strict: false, allErrors: false, validateFormats: true } as const;
  const ajv: AjvType = modernDialect ? new Ajv2020(options) : new Ajv(options);
  addFormats.default(ajv);
  // The specification's "byte" format marks base64 text; the oracle does not check the decoded content.
  ajv.addFormat("byte", true);
  ajv.addSchema(schema, version);

  const compiled = new Map<string, ValidateFunction>();
  return {
    version,
    root: modernDialect ? "#/$defs/" : "#/definitions/",
    defs,
    has: (definition) => Object.hasOwn(defs, definition),
    validate(pointer, value) {
      let check = compiled.get(pointer);
      if (check === undefined) {
        check = ajv.compile({ $ref: `${version}${pointer}` });
        compiled.set(pointer, check);
      }
      return check(value) ? [] : errorTexts(check);
    },
  };
}

/**
 * Corrects mistakes of the schema generator: where the specification's source says number, the schemas say integer.
 * This affects the bounds of a number field (2025-06-18 and 2025-11-25; fixed in 2026-07-28), the values a user enters
 * into one (2025-06-18 and later), and arbitrary JSON values (2026-07-28, which also omits null).
 */
function correctNumbers(defs: Json): void {
  const number = propertiesOf(defs.NumberSchema);
  for (const name of ["minimum", "maximum", "default"]) widen(number[name]);
  const entered = propertiesOf(defs.ElicitResult).content;
  const field = isJson(entered) ? entered.additionalProperties : undefined;
  widen(field);
  if (isJson(field) && Array.isArray(field.anyOf)) field.anyOf.forEach(widen);
  if (isJson(defs.JSONValue) && Array.isArray(defs.JSONValue.anyOf)) {
    defs.JSONValue.anyOf.forEach(widen);
    defs.JSONValue.anyOf.push({ type: "null" });
  }
}

function propertiesOf(schema: unknown): Json {
  return isJson(schema) && isJson(schema.properties) ? schema.properties : {};
}

/** Allows numbers wherever the schema allows integers. */
function widen(schema: unknown): void {
  if (!isJson(schema)) return;
  if (schema.type === "integer") schema.type = "number";
  else if (Array.isArray(schema.type)) schema.type = schema.type.map((type) => (type === "integer" ? "number" : type));
}

const ERRORS_SHOWN = 4;

function errorTexts(check: ValidateFunction): string[] {
  // If several branches of a union failed, the deepest error is the most informative.
  const errors = [...(check.errors ?? [])].sort((a, b) => b.instancePath.length - a.instancePath.length);
  const texts = errors.map((error) => {
    const extra = "allowedValue" in error.params ? ` ${JSON.stringify(error.params.allowedValue)}` : "";
    return `${error.instancePath || "/"} ${error.message ?? error.keyword}${extra}`;
  });
  return [...new Set(texts)].slice(0, ERRORS_SHOWN);
}

interface Found {
  readonly schema: Json;
  readonly pointer: string;
}

/** Schemas already looked up, by pointer. Every message is checked, so the same few are looked up thousands of times. */
const lookedUp = new WeakMap<Spec, Map<string, Found | undefined>>();

/** Returns the schema that a JSON pointer names, following `$ref`. */
export function schemaAt(spec: Spec, pointer: string): Found | undefined {
  const known = lookedUp.get(spec) ?? new Map<string, Found | undefined>();
  lookedUp.set(spec, known);
  if (!known.has(pointer)) known.set(pointer, lookUp(spec, pointer));
  return known.get(pointer);
}

function lookUp(spec: Spec, pointer: string): Found | undefined {
  let at: unknown = { [spec.root.slice(2, -1)]: spec.defs };
  for (const step of pointer.slice(2).split("/")) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(key)];
    else if (isJson(at)) at = at[key];
    else return undefined;
  }
  if (!isJson(at)) return undefined;
  return typeof at.$ref === "string" ? schemaAt(spec, at.$ref) : { schema: at, pointer };
}

/** Appends keys to a JSON pointer. */
export function step(pointer: string, ...keys: string[]): string {
  return [pointer, ...keys.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1")))].join("/");
}
