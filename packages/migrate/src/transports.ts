/**
 * Migrates servers that are served over stdio.
 *
 * @module
 */
import { type CallExpression, Node, type Statement, SyntaxKind } from "ts-morph";
import { oldClass, rangeOf, type Unit, unwrap } from "./unit.ts";

/** Migrates `server.connect(transport)` for stdio. Returns false for any other transport. */
export function migrateConnect(unit: Unit, call: CallExpression, server: Node): boolean {
  const [transport] = call.getArguments();
  if (!transport || oldClass(transport) !== "stdio") return false;
  removeTransport(unit, transport);
  unit.need("mcp-edge/node", "serveStdio");
  const statement = call.getFirstAncestorByKind(SyntaxKind.ExpressionStatement);
  const serve = (nested: (range: { start: number; end: number }) => string) => `serveStdio(${nested(rangeOf(server))})`;
  const last = statement && lastInBlock(statement);
  if (!statement || !last || !Node.isAwaitExpression(statement.getExpression())) {
    unit.replace(call, serve);
    return true;
  }
  // serveStdio() resolves only when the input has ended, so it must follow the other statements of the block.
  const indent = unit.indentAt(statement.getStart());
  unit.remove(statement);
  unit.edits.replace(
    { start: last.getEnd(), end: last.getEnd() },
    (nested) => `${unit.newline}${indent}await ${serve(nested)};`,
  );
  return true;
}

/** The last statement of the block of a statement; undefined if nothing follows it. */
function lastInBlock(statement: Statement): Statement | undefined {
  const parent = statement.getParent();
  if (!Node.isBlock(parent) && !Node.isSourceFile(parent)) return undefined;
  const statements = parent.getStatements();
  const rest = statements.slice(statements.indexOf(statement) + 1);
  // Function declarations are hoisted, so they need not come first.
  const moved = rest.filter((each) => !Node.isFunctionDeclaration(each));
  const isPlain = moved.every((each) => Node.isExpressionStatement(each) || Node.isIfStatement(each));
  const isCallOfFunction = Node.isSourceFile(parent);
  return moved.length > 0 && isPlain && !isCallOfFunction
    ? moved.at(-1)
    : isCallOfFunction && isPlain
      ? moved.at(-1)
      : undefined;
}

/** Removes the declaration of a transport. */
function removeTransport(unit: Unit, transport: Node): void {
  const identifier = unwrap(transport);
  if (!Node.isIdentifier(identifier)) return;
  const statement = identifier.getSymbol()?.getDeclarations()[0]?.getFirstAncestorByKind(SyntaxKind.VariableStatement);
  if (statement?.getSourceFile() === unit.file && statement.getDeclarations().length === 1) unit.remove(statement);
}
