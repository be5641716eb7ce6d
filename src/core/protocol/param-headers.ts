/**
 * Tool arguments that clients repeat in `Mcp-Param-*` headers (`x-mcp-header` in the input schema).
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Schema Extension"
 */
import { KitError } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";

/** One argument that has a header. */
export interface ParamHeader {
  /** The part of the header's name after `Mcp-Param-`. */
  readonly name: string;
  /** The names of the properties from the root to the argument. */
  readonly path: readonly string[];
}

const KEYWORD = "x-mcp-header";
/** A token (RFC 9110, 5.6.2). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const TYPES: readonly unknown[] = ["string", "integer", "boolean"];

/**
 * Returns the headers that a tool's input schema declares.
 *
 * @throws {KitError} `definition-invalid` naming the property. Clients ignore a tool with invalid annotations.
 */
export function listParamHeaders(tool: string, schema: JsonObject): readonly ParamHeader[] {
  const found: ParamHeader[] = [];
  collect(tool, schema, [], found);
  const reached = countAnnotations(schema);
  if (reached > found.length) {
    throw invalid(tool, 'only "properties" may contain it, not items, a composition, a condition or $defs');
  }
  const names = found.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalid(tool, `the name "${twice}" is used twice, regardless of case`);
  return found;
}

function collect(tool: string, schema: JsonObject, path: readonly string[], found: ParamHeader[]): void {
  if (!isObject(schema.properties)) return;
  for (const [key, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const here = [...path, key];
    if (KEYWORD in property) found.push({ name: checkedName(tool, property, here), path: here });
    collect(tool, property, here, found);
  }
}

function checkedName(tool: string, property: JsonObject, path: readonly string[]): string {
  const name = property[KEYWORD];
  if (typeof name !== "string" || !TOKEN.test(name)) {
    throw invalid(tool, `the value for "${path.join(".")}" is not a header name (RFC 9110, 5.6.2)`);
  }
  if (!TYPES.includes(property.type)) {
    throw invalid(
      tool,
      `"${path.join(".")}" has the type ${JSON.stringify(property.type)}; only string, integer and boolean have headers`,
    );
  }
  return name;
}

/**
 * Counts the annotations anywhere in the schema. A property that is itself named like the keyword is not an annotation.
 */
function countAnnotations(schema: unknown): number {
  if (Array.isArray(schema)) return schema.reduce<number>((sum, member) => sum + countAnnotations(member), 0);
  if (!isObject(schema)) return 0;
  let count = KEYWORD in schema ? 1 : 0;
  for (const [keyword, member] of Object.entries(schema)) {
    if (keyword === "properties" && isObject(member)) {
      for (const property of Object.values(member)) count += countAnnotations(property);
    } else if (!DATA_KEYWORDS.includes(keyword)) count += countAnnotations(member);
  }
  return count;
}

/** Keywords whose value is data, not a schema. */
const DATA_KEYWORDS: readonly string[] = ["default", "const", "enum", "examples", KEYWORD];

function invalid(tool: string, problem: string): KitError {
  return new KitError("definition-invalid", `${KEYWORD} in the input of tool "${tool}" is not valid: ${problem}.`);
}
