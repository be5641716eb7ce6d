/**
 * Exceptions of tools. The old kits show the message of every exception to the model, and this kit only the message of a `ToolError`.
 *
 * @module
 */
import { type NewExpression, Node, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";

/** The maximum number of calls between a tool and a function that throws. */
const DEPTH_MAX = 4;

/** Makes `throw new Error(...)` in tools, and in the functions of the project that they call, throw a `ToolError`. */
export function migrateThrown(migration: Migration): void {
  const seen = new Set<Node>();
  for (const { kind, handler } of migration.plans.values()) if (kind === "tool") visit(migration, handler, 0, seen);
}

function visit(migration: Migration, scope: Node, depth: number, seen: Set<Node>): void {
  if (seen.has(scope)) return;
  seen.add(scope);
  for (const thrown of scope.getDescendantsOfKind(SyntaxKind.ThrowStatement)) {
    const error = thrown.getExpression();
    if (Node.isNewExpression(error)) rewrite(migration, error);
  }
  if (depth >= DEPTH_MAX) return;
  for (const call of scope.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    const callee = call.getExpression();
    const name = Node.isPropertyAccessExpression(callee) ? callee.getNameNode() : callee;
    if (!Node.isIdentifier(name)) continue;
    const symbol = name.getSymbol();
    const declaration = (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations()[0];
    if (!declaration || !migration.unitOf(declaration)) continue;
    const isFunction = Node.isFunctionDeclaration(declaration) || Node.isMethodDeclaration(declaration);
    if (isFunction || Node.isVariableDeclaration(declaration)) visit(migration, declaration, depth + 1, seen);
  }
}

function rewrite(migration: Migration, error: NewExpression): void {
  const name = error.getExpression();
  const unit = migration.unitOf(error);
  const [message, more] = error.getArguments();
  if (!unit || name.getText() !== "Error" || !message || more) return;
  unit.edits.once(`thrown ${name.getStart()}`, () => {
    migration.topics.add("thrown");
    unit.need("mcp-edge", "ToolError");
    unit.replace(name, "ToolError");
    if (isText(message)) return;
    // The message of an Error can be any value.
    unit.edits.insert(message.getStart(), "String(");
    unit.edits.insert(message.getEnd(), ")");
  });
}

function isText(node: Node): boolean {
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node) || Node.isTemplateExpression(node))
    return true;
  if (Node.isBinaryExpression(node)) return isText(node.getLeft()) || isText(node.getRight());
  return node.getType().isString();
}
