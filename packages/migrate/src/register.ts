/**
 * Definitions of tools and prompts: `registerTool`, `tool`, `registerPrompt` and `prompt`.
 *
 * @module
 */
import { type CallExpression, Node, type ObjectLiteralExpression, type PropertyAccessExpression } from "ts-morph";
import type { Migration } from "./context.ts";
import type { Nested } from "./edits.ts";
import type { HandlerKind } from "./handlers.ts";
import { completerText, schemaText, shapeOf, takeCompleters } from "./schemas.ts";
import { asFunction, followName, rangeOf, type Unit, unwrap } from "./unit.ts";

/** A call of a method of a server. */
export interface MethodCall {
  readonly unit: Unit;
  readonly call: CallExpression;
  readonly callee: PropertyAccessExpression;
}

/** The differences between tools and prompts. */
const KINDS = {
  tool: { schemas: { inputSchema: "input", outputSchema: "output" }, input: "inputSchema", isPrompt: false },
  prompt: { schemas: { argsSchema: "arguments" }, input: "argsSchema", isPrompt: true },
} as const;

type DefinedKind = keyof typeof KINDS;

/** Options of the old kits that this kit does not have. */
const DROPPED = new Set(["execution"]);

/** Migrates `registerTool(name, config, callback)` or `registerPrompt(...)`. */
export function migrateRegistered(migration: Migration, { unit, call, callee }: MethodCall, kind: DefinedKind): void {
  const [name, config, callback] = call.getArguments();
  const literal = followName(config);
  if (!name || !config || !callback) {
    unit.commentOut(call, `This call of ${callee.getName()}() has an unknown form.`);
    return;
  }
  if (!Node.isObjectLiteralExpression(literal) || hasSpread(literal)) {
    unit.commentOut(call, `The options of this ${kind} are not an object literal, so they were not converted.`);
    return;
  }
  const owner = migration.unitOf(literal) ?? unit;
  let problem: string | undefined;
  owner.edits.once(`options ${literal.getStart()}`, () => {
    problem = migrateOptions(migration, owner, literal, kind);
  });
  if (problem !== undefined) unit.todo(call, problem);
  unit.edits.replace(rangeOf(callee.getNameNode()), kind);
  checkResult(unit, call);
  const hasInput = literal.getProperty(KINDS[kind].input) !== undefined;
  migrateCallback(migration, unit, callback, kind, !hasInput);
}

function hasSpread(literal: ObjectLiteralExpression): boolean {
  return literal.getProperties().some((each) => Node.isSpreadAssignment(each));
}

/** Renames the members of the options, and wraps shapes. Returns what could not be converted. */
function migrateOptions(
  migration: Migration,
  unit: Unit,
  literal: ObjectLiteralExpression,
  kind: DefinedKind,
): string | undefined {
  const { schemas, isPrompt } = KINDS[kind];
  let problem: string | undefined;
  for (const property of literal.getProperties()) {
    if (!Node.isPropertyAssignment(property) && !Node.isShorthandPropertyAssignment(property)) continue;
    const name = property.getName();
    if (DROPPED.has(name)) {
      removeProperty(unit, property);
      problem = "Tasks are declared with the option task of this kit.";
      continue;
    }
    const renamed = (schemas as Readonly<Record<string, string>>)[name];
    if (!Object.hasOwn(schemas, name) || renamed === undefined) continue;
    const value = Node.isPropertyAssignment(property) ? property.getInitializer() : property.getNameNode();
    if (!value) continue;
    if (unwrap(value)?.getText() === "undefined") {
      removeProperty(unit, property);
      continue;
    }
    const completers = isPrompt ? takeCompleters(migration, shapeOf(value)) : new Map<string, Node>();
    const text = schemaText(migration, unit, value);
    if (!text) problem = `It is not known whether ${name} is a schema or the shape of one; a shape needs z.object().`;
    const written = text ?? ((nested: Nested) => nested(rangeOf(value)));
    unit.replace(property, (nested) => `${renamed}: ${written(nested)}${completersText(completers, nested)}`);
  }
  return problem;
}

function completersText(completers: ReadonlyMap<string, Node>, nested: Nested): string {
  if (completers.size === 0) return "";
  const members = [...completers].map(([name, node]) => `${name}: ${completerText(node, nested)}`);
  return `, complete: { ${members.join(", ")} }`;
}

/** Removes a member of an object literal with its comma. */
export function removeProperty(unit: Unit, property: Node): void {
  const { start, end } = rangeOf(property);
  const comma = /^\s*,[ \t]*/.exec(unit.text.slice(end));
  unit.edits.replace({ start, end: end + (comma?.[0].length ?? 0) }, "");
}

/** Leaves a note if the result is used: the old kits return an object with methods, and this kit returns the server. */
function checkResult(unit: Unit, call: CallExpression): void {
  const parent = call.getParent();
  if (Node.isExpressionStatement(parent) || Node.isArrowFunction(parent) || Node.isVoidExpression(parent)) return;
  unit.todo(
    call,
    "A definition has no enable(), disable(), update() or remove() here: use server.remove() and server.replace().",
  );
}

/** Prepares the parameters of a callback. A callback that is not written in place is wrapped if it gets only the context. */
export function migrateCallback(
  migration: Migration,
  unit: Unit,
  node: Node,
  kind: HandlerKind,
  lacksArguments: boolean,
): void {
  const handler = asFunction(unwrap(node));
  if (handler) {
    migration.plans.add({ unit, handler, kind, lacksArguments, needsContext: false });
    return;
  }
  if (lacksArguments) {
    unit.replace(node, (nested) => `(_args, ctx) => (${nested(rangeOf(node))})(ctx)`);
  }
}

/** The names of annotations of tools. An object with only these is not a shape. */
const ANNOTATIONS = new Set(["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]);

function isAnnotations(node: Node): boolean {
  const literal = followName(node);
  if (!Node.isObjectLiteralExpression(literal)) return false;
  const properties = literal.getProperties();
  if (properties.length === 0) return false;
  return properties.every(
    (each) =>
      Node.isPropertyAssignment(each) &&
      ANNOTATIONS.has(each.getName()) &&
      Node.isLiteralExpression(each.getInitializer()) === !isBoolean(each.getInitializer()),
  );
}

function isBoolean(node: Node | undefined): boolean {
  return Node.isTrueLiteral(node) || Node.isFalseLiteral(node);
}

/** Migrates the older `tool(name, description?, shape?, annotations?, callback)` and `prompt(...)`. */
export function migratePositional(migration: Migration, { unit, call, callee }: MethodCall, kind: DefinedKind): void {
  const all = call.getArguments();
  const [name] = all;
  const callback = all.at(-1);
  if (!name || !callback || all.length < 2) return;
  const middle = all.slice(1, -1);
  const parts = sortArguments(middle);
  if (!parts) {
    unit.commentOut(call, `This call of ${callee.getName()}() has an unknown form.`);
    return;
  }
  checkResult(unit, call);
  migrateCallback(migration, unit, callback, kind, parts.shape === undefined);
  const options = optionsText(migration, unit, kind, parts);
  if (options.problem) unit.todo(call, options.problem);
  const [first] = middle;
  const last = middle.at(-1);
  if (first && last) unit.edits.replace({ start: first.getStart(), end: last.getEnd() }, options.text);
  else unit.edits.insert(callback.getStart(), "{}, ");
}

interface Parts {
  description?: Node;
  shape?: Node;
  annotations?: Node;
}

function sortArguments(middle: readonly Node[]): Parts | undefined {
  const parts: Parts = {};
  for (const node of middle) {
    const type = node.getType();
    const isText =
      type.isString() ||
      type.isStringLiteral() ||
      (type.isUnion() && type.getUnionTypes().every((each) => each.isStringLiteral()));
    if (isText && !parts.description && !parts.shape) parts.description = node;
    else if (isAnnotations(node) && !parts.annotations) parts.annotations = node;
    else if (!parts.shape && !parts.annotations) parts.shape = node;
    else if (!parts.annotations) parts.annotations = node;
    else return undefined;
  }
  return parts;
}

function optionsText(migration: Migration, unit: Unit, kind: DefinedKind, { description, shape, annotations }: Parts) {
  const completers = kind === "prompt" ? takeCompleters(migration, shapeOf(shape)) : new Map<string, Node>();
  const schema = shape && schemaText(migration, unit, shape);
  const problem =
    shape && !schema
      ? "It is not known whether this is a schema or the shape of one; a shape needs z.object()."
      : undefined;
  const text = (nested: Nested) => {
    const members: string[] = [];
    if (description) members.push(`description: ${nested(rangeOf(description))}`);
    const written = schema ?? ((inner: Nested) => (shape ? inner(rangeOf(shape)) : ""));
    const key = kind === "prompt" ? "arguments" : "input";
    if (shape) members.push(`${key}: ${written(nested)}${completersText(completers, nested)}`);
    if (annotations) members.push(`annotations: ${nested(rangeOf(annotations))}`);
    return `{ ${members.join(", ")} }`;
  };
  return { text, problem };
}
