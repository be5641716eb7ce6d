/**
 * Schemas of arguments: the old kits accept the shape of an object, and this kit a schema.
 *
 * @module
 */
import { type CallExpression, Node, type ObjectLiteralExpression, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import type { Nested } from "./edits.ts";
import { asFunction, followName, isSchema, rangeOf, type Unit, unwrap } from "./unit.ts";

/** Returns a function that writes the text of a schema, with a shape wrapped in `z.object()`; undefined if it may be either. */
export function schemaText(migration: Migration, unit: Unit, node: Node): ((nested: Nested) => string) | undefined {
  const plain = unwrap(node);
  // The SDK v2 takes schemas of any library, so one whose type is not known is a schema.
  const isShape = plain !== undefined && (isShapeNode(plain) ?? (unit.kit === "sdk-v2" ? false : undefined));
  if (isShape === undefined) return undefined;
  fixRecords(migration, followName(node));
  if (!isShape) return (nested) => nested(rangeOf(node));
  // z.object(schema.shape) is the schema itself.
  if (Node.isPropertyAccessExpression(plain) && plain.getName() === "shape" && isSchema(plain.getExpression())) {
    const whole = rangeOf(plain.getExpression());
    return (nested) => nested(whole);
  }
  const zod = unit.zod();
  return (nested) => `${zod}.object(${nested(rangeOf(node))})`;
}

/** Whether an expression is a shape; undefined if that is not known. */
function isShapeNode(node: Node): boolean | undefined {
  if (Node.isObjectLiteralExpression(node)) return true;
  if (Node.isPropertyAccessExpression(node) && node.getName() === "shape") return true;
  const known = isSchema(node);
  if (known !== undefined) return !known;
  const value = followName(node);
  if (value && value !== node) return isShapeNode(value);
  if (!Node.isCallExpression(node)) return undefined;
  // The type of a schema such as z.object({}).strict() may be unknown, so its text decides.
  return /^z\.(strict|loose)?[oO]bject\(/.test(node.getText()) ? false : undefined;
}

/** Since zod 4, `z.record(value)` needs the schema of the keys too. */
function fixRecords(migration: Migration, node: Node | undefined): void {
  for (const call of node?.getDescendantsOfKind(SyntaxKind.CallExpression) ?? []) {
    const callee = call.getExpression();
    const [value, more] = call.getArguments();
    const unit = migration.unitOf(call);
    if (!unit || !value || more || !Node.isPropertyAccessExpression(callee) || callee.getName() !== "record") continue;
    if (!/^z(od)?$/.test(callee.getExpression().getText())) continue;
    unit.edits.once(`record ${value.getStart()}`, () =>
      unit.edits.insert(value.getStart(), `${callee.getExpression().getText()}.string(), `),
    );
  }
}

/** The object literal that lists the members of a shape or of `z.object({ ... })`. */
export function shapeOf(node: Node | undefined): ObjectLiteralExpression | undefined {
  const value = followName(node);
  if (Node.isObjectLiteralExpression(value)) return value;
  if (!Node.isCallExpression(value)) return undefined;
  const callee = value.getExpression();
  if (!Node.isPropertyAccessExpression(callee)) return undefined;
  if (/^(strict|loose)?[oO]bject$/.test(callee.getName())) return shapeOf(value.getArguments()[0]);
  return shapeOf(callee.getExpression());
}

/** Removes `completable()` from the members of a shape, and returns the completers by the name of the member. */
export function takeCompleters(migration: Migration, shape: ObjectLiteralExpression | undefined): Map<string, Node> {
  const found = new Map<string, Node>();
  for (const property of shape?.getProperties() ?? []) {
    if (!Node.isPropertyAssignment(property)) continue;
    const value = property.getInitializer();
    const call = [value, ...(value?.getDescendantsOfKind(SyntaxKind.CallExpression) ?? [])].find(isCompletable);
    const [schema, complete] = call?.getArguments() ?? [];
    const unit = migration.unitOf(property);
    if (!call || !schema || !complete || !unit) continue;
    unit.replace(call, (nested) => nested(rangeOf(schema)));
    found.set(property.getNameNode().getText(), complete);
  }
  return found;
}

function isCompletable(node: Node | undefined): node is CallExpression {
  return Node.isCallExpression(node) && node.getExpression().getText() === "completable";
}

/** Returns the text of a completer. The old kits pass the other arguments as `{ arguments }`, and this kit passes them directly. */
export function completerText(node: Node, nested: Nested): string {
  const text = nested(rangeOf(node));
  const inPlace = asFunction(node);
  if (inPlace && inPlace.getParameters().length < 2) return text;
  return `(value, chosen) => (${text})(value, { arguments: chosen })`;
}
