/**
 * Creates tools from operations: their arguments, their schemas within the limits of hosts, and how their pages are followed.
 *
 * @module
 */

import type { Body } from "./bodies.ts";
import type { Description } from "./document.ts";
import { ARGUMENTS_MAX, OUTPUT_BYTES_MAX, TOOL_TEXT_MAX } from "./limits.ts";
import { type GivenNames, nameTools } from "./names.ts";
import type { Operation, Refused } from "./operations.ts";
import { findPages, type Pages } from "./pages.ts";
import type { Parameter, Style } from "./parameters.ts";
import { Converter, DETAILS, type Detail } from "./schemas.ts";
import { bytesOf, isObject, isScalar, type Member, type Shape, toJsonSchema } from "./shape.ts";
import { oneLine, shorten, unique, wordsOf } from "./text.ts";
import { treeOf } from "./tree.ts";

/** An argument of a tool. */
export interface Argument extends Member {
  /** Where the argument goes: a parameter, a member of the body, or the whole body. */
  readonly target: Parameter | BodyMember | { readonly place: "body" };
}

/** A member of the body, which is an argument of its own. */
export interface BodyMember {
  readonly place: "member";
  readonly name: string;
  /** How it is written in a form. */
  readonly style: Style;
}

/** A tool. */
export interface Tool {
  readonly operation: Operation;
  readonly name: string;
  readonly title: string | undefined;
  readonly text: string;
  readonly arguments: readonly Argument[];
  readonly output: Shape | undefined;
  /** The complete response, from which an example is made. */
  readonly response: Shape;
  readonly pages: Pages | undefined;
  /** The tool as clients receive it in the list of tools. */
  readonly listed: Listed;
  /** The size that the tool adds to the list, in bytes. */
  readonly bytes: number;
}

/** A tool in the list of tools. */
export interface Listed {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
  readonly annotations: Readonly<Record<string, boolean>>;
}

/**
 * Makes the tools.
 *
 * @param schemaBytesMax The maximum size of an input schema, in bytes.
 * @param given The names that tools were given before.
 */
export function makeTools(
  description: Description,
  operations: readonly Operation[],
  schemaBytesMax: number,
  given: GivenNames = {},
): { tools: Tool[]; refused: Refused[] } {
  const names = nameTools(operations, given);
  const refused: Refused[] = [];
  const tools = operations.flatMap((operation): Tool[] => {
    const made = makeTool(description, operation, names.get(operation.id) ?? "call", schemaBytesMax);
    if (typeof made !== "string") return [made];
    refused.push({ id: operation.id, reason: made });
    return [];
  });
  return { tools, refused };
}

/** The converted schemas, cached by operation, because they do not depend on the names of tools. */
const schemas = new WeakMap<Operation, Schemas>();

interface Schemas {
  readonly max: number;
  readonly fitting: Argument[] | string;
  readonly response: Shape;
}

function schemasOf(description: Description, operation: Operation, max: number): Schemas {
  const known = schemas.get(operation);
  if (known?.max === max) return known;
  const made = { max, fitting: fit(description, operation, max), response: responseOf(description, operation) };
  schemas.set(operation, made);
  return made;
}

function makeTool(description: Description, operation: Operation, name: string, max: number): Tool | string {
  const { fitting, response } = schemasOf(description, operation, max);
  if (typeof fitting === "string") return fitting;
  if (!operation.isReadable) return "its response is neither JSON nor text";
  const pages = findPages(operation, response);
  // A result that violates its schema is an error, after which a model would repeat even a successful change.
  const output = pages === undefined && operation.method === "GET" ? smallOutput(response) : undefined;
  const title = shorten(oneLine(operation.summary ?? ""), 80) || undefined;
  const text = describeTool(operation, name);
  const annotations = annotationsOf(operation);
  const listed = {
    name,
    ...(title === undefined ? {} : { title }),
    description: text,
    inputSchema: { $schema: DRAFT, ...toJsonSchema(objectOf(fitting)) },
    ...(output === undefined ? {} : { outputSchema: { $schema: DRAFT, ...toJsonSchema(output) } }),
    annotations,
  };
  return {
    operation,
    name,
    title,
    text,
    arguments: fitting,
    output,
    response,
    pages,
    listed,
    bytes: bytesOf(listed) + 1,
  };
}

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

/** Returns the hints that follow from the method. @see RFC 9110, section 9.2 */
export function annotationsOf({ method }: Operation): Readonly<Record<string, boolean>> {
  if (method === "GET") return { readOnlyHint: true, openWorldHint: true };
  const destroys = { POST: false, PUT: true, PATCH: true, DELETE: true }[method];
  const isIdempotent = method === "PUT" || method === "DELETE";
  return { destructiveHint: destroys, ...(isIdempotent ? { idempotentHint: true } : {}), openWorldHint: true };
}

function describeTool({ summary, text, isDeprecated, method, path }: Operation, name: string): string {
  const [short, long] = [oneLine(summary ?? ""), oneLine(text ?? "")];
  const whole = long.toLowerCase().startsWith(short.toLowerCase())
    ? long
    : [short.replace(/\.?$/, "."), long].join(" ");
  const described = shorten(whole.replace(/^\. ?/, "").trim(), TOOL_TEXT_MAX);
  const fallback = `${wordsOf(name)
    .join(" ")
    .replace(/^./, (first) => first.toUpperCase())} (${method} ${oneLine(path)})`;
  return `${isDeprecated ? "Deprecated. " : ""}${described === "" || described === "." ? fallback : described}`;
}

/** Converts the arguments with as much detail as fits. Returns a reason if they do not fit even without detail. */
function fit(description: Description, operation: Operation, max: number): Argument[] | string {
  for (const detail of DETAILS) {
    const found = argumentsOf(description, operation, detail);
    if (found.length > ARGUMENTS_MAX) return `it has ${found.length} arguments; a tool can have ${ARGUMENTS_MAX}`;
    if (bytesOf({ $schema: DRAFT, ...toJsonSchema(objectOf(found)) }) <= max) return found;
  }
  return `its schema is larger than ${max} bytes, even without descriptions`;
}

function objectOf(members: readonly Member[]): Shape {
  return {
    kind: "object",
    isOpen: false,
    members,
  };
}

function argumentsOf(description: Description, operation: Operation, detail: Detail): Argument[] {
  const converter = new Converter(description, detail);
  const taken = new Set<string>();
  const nameOf = (name: string) => {
    const plain = /^[A-Za-z][\w.-]{0,63}$/.test(name) ? name : wordsOf(name).join("_").slice(0, 60) || "value";
    // An inherited member would be found even if the model has not passed it.
    const isFree = /^[A-Za-z]/.test(plain) && !(plain in Object.prototype);
    const own = unique(isFree ? plain : `a_${plain}`, taken);
    taken.add(own);
    return own;
  };
  const found: Argument[] = operation.parameters.filter(isArgument).map((target) => {
    const described = target.text === undefined ? {} : { description: target.text };
    const shape = converter.convert({ ...treeOf(target.schema), ...described });
    const single = target.place === "path" ? pathShape(shape) : shape;
    return {
      name: nameOf(target.name),
      shape: { ...single, ...(shape.text === undefined ? {} : { text: shape.text }) },
      isRequired: target.isRequired,
      target,
    };
  });
  const { body } = operation;
  if (body === undefined) return found;
  const shape = converter.convert(body.schema);
  // The members of the body are arguments of their own, because models fill in flat arguments more reliably.
  const isFlat = shape.kind === "object" && !shape.isOpen && shape.members.length <= 30 && shape.isNullable !== true;
  if (isFlat && (body.isRequired || shape.members.every(({ isRequired }) => !isRequired))) {
    for (const { name, shape: member, isRequired } of shape.members) {
      const style = body.styles.get(name) ?? "plain";
      found.push({ name: nameOf(name), shape: member, isRequired, target: { place: "member", name, style } });
    }
  } else {
    const text = shape.text ?? "The body of the request";
    const whole: Shape = { ...wholeShape(body, shape), text };
    found.push({ name: nameOf("body"), shape: whole, isRequired: body.isRequired, target: { place: "body" } });
  }
  return found;
}

/** Whether the model provides the value of a parameter. */
function isArgument({ isGenerated = false }: Parameter): boolean {
  return !isGenerated;
}

/** The shape of a body that is one argument. A form is an object. */
function wholeShape({ type }: Body, shape: Shape): Shape {
  if (type === "text") return { kind: "string" };
  if (type === "json" || isObject(shape) || (shape.kind === "any-of" && shape.options.every(isObject))) return shape;
  return { kind: "map", values: { kind: "unknown" } };
}

/** Returns the shape of a path parameter: a scalar or a list of scalars, which cannot be empty. */
function pathShape(shape: Shape): Shape {
  if (shape.kind === "list" && isScalar(shape.items)) {
    return { ...shape, items: { ...shape.items, isNullable: false }, isNullable: false, min: shape.min ?? 1 };
  }
  if (shape.kind === "string") return { ...shape, isNullable: false, min: shape.min ?? 1 };
  if (shape.kind === "number" || shape.kind === "values" || shape.kind === "boolean")
    return { ...shape, isNullable: false };
  return { kind: "string", min: 1 };
}

function responseOf(description: Description, { response }: Operation): Shape {
  if (response === undefined) return { kind: "unknown" };
  return new Converter(description, { depth: 4, textMax: 0, isResponse: true }).convert(response);
}

/** Returns the output schema, if it is an object and small enough to be worth its size. */
function smallOutput(response: Shape): Shape | undefined {
  if (response.kind !== "object" || response.isNullable || response.members.length === 0) return undefined;
  return bytesOf(toJsonSchema(response)) <= OUTPUT_BYTES_MAX ? response : undefined;
}
