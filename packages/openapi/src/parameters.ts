/**
 * The parameters of operations, and how their values are written.
 *
 * @module
 */
import type { Description } from "./document.ts";
import { isObject, isPlain, type Shape } from "./shape.ts";
import { isTree, listOf, scalarText, type Tree, textOf, treeOf } from "./tree.ts";

/**
 * How a value with several parts is written. `plain`: a list as parameters of one name, an object as JSON. `repeated`: a list as
 * parameters of one name, an object as a parameter for each member. `pairs`: `a=1,b=2`.
 *
 * @see OpenAPI 3.1.1, section 4.8.12.4, "Style Values"
 */
export type Style = "plain" | "repeated" | "comma" | "pairs" | "space" | "pipe" | "deep" | "json";

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly place: "path" | "query" | "header";
  readonly isRequired: boolean;
  readonly schema: unknown;
  readonly text: string | undefined;
  readonly style: Style;
  /** Whether the value is a new identifier for each request, which the model does not provide. */
  readonly isGenerated?: boolean;
}

/** How a value is written. `value`: unchanged, and a list as several parameters with the same name. */
export type Way = "value" | "members" | "joined" | "pairs" | "deep" | "json";

/** Returns how the values of a shape are written. */
export function wayOf(style: Style, shape: Shape): Way {
  if (style === "deep" || style === "json") return style;
  const hasList =
    shape.kind === "list" || (shape.kind === "any-of" && shape.options.some(({ kind }) => kind === "list"));
  const isList = hasList && isPlain(shape);
  if (style !== "plain" && style !== "repeated" && (isList || isObject(shape)))
    return style === "pairs" && !isList ? "pairs" : "joined";
  if (style === "repeated" && isObject(shape)) return "members";
  return isPlain(shape) ? "value" : "json";
}

/** Headers that the request or the credentials set. */
const OWN_HEADERS = new Set(["accept", "content-type", "authorization", "host", "content-length", "cookie"]);

/** Headers that carry an identifier of the request, for logs and traces. */
const TRACES =
  /^(?:traceparent|tracestate|b3|(?:x-)?(?:b3-|amzn-|cloud-|client-)?(?:request|correlation|trace|span|parentspan)-?(?:id|context))$/i;
/** Headers with which an API recognises a request that it has received before. */
const ONCE = /^(?:x-)?idempotency-?(?:key|token|id)$/i;

/** Reads parameters. A later one replaces an earlier one of the same name. Returns a reason if they cannot be sent. */
export function readParameters(description: Description, given: readonly unknown[]): Parameter[] | string {
  const parameters = new Map<string, Parameter>();
  for (const each of given) {
    const parameter = description.tree(each);
    const name = scalarText(parameter.name);
    const place = textOf(parameter.in);
    if (name === "" || place === undefined) {
      if (isTree(each) && textOf(each.$ref) !== undefined) return "a parameter refers to something that does not exist";
      continue;
    }
    if (place === "header" && OWN_HEADERS.has(name.toLowerCase())) continue;
    if (place !== "path" && place !== "query" && place !== "header") {
      if (parameter.required !== true) continue;
      return place === "cookie" ? `it needs the cookie ${name}` : `it needs a parameter in ${place.slice(0, 40)}`;
    }
    const read = readParameter(description, parameter, { name, place });
    if (typeof read === "string") return read;
    if (place === "header" && TRACES.test(name) && !read.isRequired) continue;
    parameters.set(`${place} ${name}`, read);
  }
  return [...parameters.values()];
}

function readParameter(
  description: Description,
  parameter: Tree,
  { name, place }: Pick<Parameter, "name" | "place">,
): Parameter | string {
  if (place === "header" && !/^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name)) return "the name of a header is not valid";
  const style = isTree(parameter.content) ? "json" : styleOf(parameter, place);
  if (style === undefined)
    return `the style ${scalarText(parameter.style).slice(0, 40)} of a parameter is not supported`;
  const content = Object.values(treeOf(parameter.content))[0];
  const schema = parameter.schema ?? treeOf(content).schema ?? { type: "string" };
  const { type, properties } = description.tree(schema);
  if (place === "path" && (type === "object" || isTree(properties))) return "a parameter in its path is an object";
  const isRequired = place === "path" || parameter.required === true;
  // A model would have to invent such an id.
  const isId = place === "header" && (TRACES.test(name) || ONCE.test(name));
  const isGenerated = isId && (type === "string" || type === undefined);
  const read = { name, place, isRequired, schema, text: textOf(parameter.description), style };
  return { ...read, ...(isGenerated ? { isGenerated } : {}) };
}

function styleOf(parameter: Tree, place: Parameter["place"]): Style | undefined {
  const style = textOf(parameter.style) ?? (place === "query" ? "form" : "simple");
  if (place === "query") return style === "simple" ? undefined : formStyle(style, parameter.explode);
  if (style !== "simple") return undefined;
  return parameter.explode === true ? "pairs" : "comma";
}

/** Returns how a value of the query or of a form is written; undefined if that is not supported. */
function formStyle(style: string, explode: unknown): Style | undefined {
  if (style === "deepObject") return "deep";
  if (style === "form") return explode === false ? "comma" : "repeated";
  if (style !== "spaceDelimited" && style !== "pipeDelimited") return undefined;
  if (explode === true) return "repeated";
  return style === "spaceDelimited" ? "space" : "pipe";
}

/**
 * Reads how the members of a form are written. Without a style, an object is JSON.
 *
 * @see OpenAPI 3.1.1, section 4.8.15, "Encoding Object"
 */
export function readStyles(given: unknown): Map<string, Style> {
  const entries = Object.entries(treeOf(given)).flatMap(([name, each]): [string, Style][] => {
    const { style, explode } = treeOf(each);
    if (style === undefined && explode === undefined) return [];
    const read = formStyle(textOf(style) ?? "form", explode);
    return read === undefined ? [] : [[name, read]];
  });
  return new Map(entries);
}

/** Returns the parameters of an operation: those of its path, and its own ones. */
export function parametersOf(item: Tree, operation: Tree): unknown[] {
  return [...listOf(item.parameters), ...listOf(operation.parameters)];
}
