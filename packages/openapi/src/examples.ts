/**
 * Creates example arguments and the requests that they must lead to, for the tests of a project.
 *
 * @module
 */
import { EXAMPLE_VALUES_MAX, ITEMS_MAX, LENGTH_MAX } from "./limits.ts";
import { type Style, type Way, wayOf } from "./parameters.ts";
import type { Shape } from "./shape.ts";
import type { BodyMember, Tool } from "./tools.ts";

/** The expected request of a call. */
export interface Expected {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
}

/** A member of a body with its example. */
interface Given {
  readonly target: BodyMember;
  readonly shape: Shape;
  readonly value: unknown;
}

/** The maximum number of optional arguments in an example. */
const OPTIONAL_MAX = 4;

/** Returns an example of a schema. @param isWhole Whether optional members are included. */
export function exampleOf(shape: Shape, isWhole: boolean): unknown {
  return makeExample(shape, 0, { isWhole, left: EXAMPLE_VALUES_MAX });
}

/** The remaining size of an example. Without a limit, nested lists would multiply. */
interface Budget {
  readonly isWhole: boolean;
  left: number;
}

function makeExample(shape: Shape, depth: number, budget: Budget): unknown {
  budget.left -= 1;
  switch (shape.kind) {
    case "string":
      return "text".padEnd(shape.min ?? 0, "x").slice(0, shape.max ?? LENGTH_MAX);
    case "number":
      return shape.min ?? Math.min(1, shape.max ?? 1);
    case "boolean":
      return true;
    case "values":
      return shape.values[0];
    case "list": {
      const count = budget.left < 0 ? 0 : Math.min(Math.max(shape.min ?? 0, 1), shape.max ?? ITEMS_MAX);
      return Array.from({ length: count }, () => makeExample(shape.items, depth + 1, budget));
    }
    case "map":
      return {};
    case "unknown":
      return "text";
    case "any-of":
      return makeExample(shape.options[0] ?? { kind: "unknown" }, depth, budget);
    case "object": {
      const isWhole = budget.isWhole && depth < 2 && budget.left > 0;
      const members = shape.members.filter(({ isRequired }) => isRequired || isWhole);
      return Object.fromEntries(members.map(({ name, shape: own }) => [name, makeExample(own, depth + 1, budget)]));
    }
  }
}

/** Returns example arguments: all required ones, and some optional ones. */
export function exampleArguments(tool: Tool): Record<string, unknown> {
  const optional = tool.arguments.filter(({ isRequired, name }) => !isRequired && name !== tool.pages?.parameter);
  const some = new Set(
    optional.filter(({ shape }) => shape.kind !== "object" && shape.kind !== "map").slice(0, OPTIONAL_MAX),
  );
  const given = tool.arguments.filter((argument) => argument.isRequired || some.has(argument));
  return Object.fromEntries(given.map(({ name, shape }) => [name, exampleOf(shape, false)]));
}

/** Returns the request that the description demands for the arguments. */
export function expectedRequest(tool: Tool, baseUrl: string, args: Readonly<Record<string, unknown>>): Expected {
  const { operation } = tool;
  let path = operation.path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  const members: Given[] = [];
  for (const argument of tool.arguments) {
    const { target } = argument;
    const value = args[argument.name];
    if (target.place === "path") path = path.replaceAll(`{${target.name}}`, () => inPath(value));
    if (value === undefined || value === null) continue;
    if (target.place === "query")
      addParameter(query, { name: target.name, way: wayOf(target.style, argument.shape), style: target.style }, value);
    if (target.place === "header")
      headers[target.name.toLowerCase()] = inHeader(wayOf(target.style, argument.shape), value);
    if (target.place === "member") members.push({ target, value, shape: argument.shape });
  }
  const url = new URL(baseUrl + encodeLiteral(path));
  for (const [name, value] of query) url.searchParams.append(name, value);
  return { url: url.href, headers, ...expectedBody(tool, args, members) };
}

const asText = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));

function inPath(value: unknown): string {
  return (Array.isArray(value) ? value : [value]).map((each) => encodeURIComponent(String(each))).join(",");
}

function inHeader(way: Way, value: unknown): string {
  const isJoined = way === "joined" || way === "pairs";
  const text = isJoined ? joinParts(value, ",", way === "pairs" ? "=" : ",") : asText(value);
  return text.replace(/[^\x20-\x7e]+/g, encodeURIComponent);
}

function joinParts(value: unknown, separator: string, pair: string): string {
  if (Array.isArray(value)) return value.map(asText).join(separator);
  if (typeof value !== "object" || value === null) return asText(value);
  return Object.entries(value)
    .map(([name, each]) => `${name}${pair}${asText(each)}`)
    .join(separator);
}

function expectedBody(
  { operation, arguments: all }: Tool,
  args: Readonly<Record<string, unknown>>,
  members: readonly Given[],
) {
  const { body } = operation;
  if (body === undefined) return {};
  const whole = all.find(({ target }) => target.place === "body");
  const given = whole === undefined ? undefined : args[whole.name];
  if (whole !== undefined && given === undefined) return {};
  const value =
    whole === undefined ? Object.fromEntries(members.map(({ target, value: own }) => [target.name, own])) : given;
  if (body.type === "json") return { json: value };
  if (body.type === "text") return { text: String(value) };
  const form = new URLSearchParams();
  if (whole === undefined)
    for (const { target, value: own, shape } of members)
      addParameter(form, { name: target.name, way: wayOf(target.style, shape), style: target.style }, own);
  else
    for (const [name, each] of Object.entries(given as object))
      addParameter(form, wholeMember(name, body.styles.get(name)), each);
  return { text: form.toString() };
}

/** Returns how a member of a form is written if the form is a single argument and only the style of the member is known. */
function wholeMember(name: string, style: Style = "plain"): Written {
  const way = style === "deep" ? "deep" : style === "plain" || style === "repeated" ? "value" : "joined";
  return { name, way, style };
}

/** How a parameter is written. */
interface Written {
  readonly name: string;
  readonly way: Way;
  readonly style: Style;
}

/** Adds a parameter of a query or form. */
function addParameter(to: URLSearchParams, { name, way, style }: Written, value: unknown): void {
  if (value === undefined || value === null) return;
  const isList = Array.isArray(value) && value.every((each) => typeof each !== "object");
  if (way === "deep") addDeep(to, name, value);
  else if (way === "joined" || way === "pairs") {
    const separator = { space: " ", pipe: "|" }[style as "space"] ?? ",";
    to.append(name, joinParts(value, separator, separator));
  } else if (way === "members")
    for (const [member, each] of Object.entries(value)) addParameter(to, { name: member, way: "value", style }, each);
  else if (way === "value" && isList) for (const each of value) to.append(name, asText(each));
  else to.append(name, asText(value));
}

function addDeep(to: URLSearchParams, name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (typeof value !== "object") to.append(name, String(value));
  else if (Array.isArray(value) && value.every((each) => typeof each !== "object"))
    for (const each of value) to.append(`${name}[]`, String(each));
  else for (const [member, each] of Object.entries(value)) addDeep(to, `${name}[${member}]`, each);
}

/** Encodes the characters of a path that are not allowed in a URL, except those that are encoded already. */
export function encodeLiteral(path: string): string {
  return path
    .replace(/[^\w\-.~!$&'()*+,;=:@/%]/gu, (character) => encodeURIComponent(character))
    .replace(/%(?![\dA-F]{2})/gi, "%25");
}
