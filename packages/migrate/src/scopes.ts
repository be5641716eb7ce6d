/**
 * Where names are declared and used.
 *
 * @module
 */
import { type Identifier, Node, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import { followName, unwrap } from "./unit.ts";

/** The uses of a name in its file, without its declaration. */
export function usesOf(name: Node): Identifier[] {
  if (!Node.isIdentifier(name)) return [];
  const symbol = name.getSymbol();
  return name
    .getSourceFile()
    .getDescendantsOfKind(SyntaxKind.Identifier)
    .filter((each) => each !== name && each.getText() === name.getText() && isSame(each, symbol));
}

function isSame(identifier: Identifier, symbol: ReturnType<Identifier["getSymbol"]>): boolean {
  // The symbol of the identifier in `{ uri }` is the member. The value has another symbol.
  const parent = identifier.getParent();
  const own = Node.isShorthandPropertyAssignment(parent) ? parent.getValueSymbol() : identifier.getSymbol();
  return own === symbol && symbol !== undefined;
}

/** Whether an expression uses only names that are declared in it, or outside of a statement. */
export function isIndependentOf(expression: Node, statement: Node): boolean {
  const names = [expression, ...expression.getDescendantsOfKind(SyntaxKind.Identifier)].filter((each) =>
    Node.isIdentifier(each),
  );
  return names.every((name) => {
    const declaration = name.getSymbol()?.getDeclarations()[0];
    if (!declaration || declaration.getSourceFile() !== statement.getSourceFile()) return true;
    return isIn(declaration, expression) || !isIn(declaration, statement);
  });
}

function isIn(node: Node, outer: Node): boolean {
  return node.getPos() >= outer.getPos() && node.getEnd() <= outer.getEnd();
}

/** The statement of the module that contains a node. */
export function topStatement(node: Node): Node | undefined {
  return [node, ...node.getAncestors()].find((each) => Node.isSourceFile(each.getParent()));
}

/** Returns the value of an expression; for a parameter, the argument of the only call of its function. */
export function originOf(migration: Migration, node: Node): Node | undefined {
  const value = followName(node);
  if (!Node.isParameterDeclaration(value)) return value;
  const owner = value.getParent();
  const name = Node.isFunctionDeclaration(owner)
    ? owner.getNameNode()
    : owner?.getParentIfKind(SyntaxKind.VariableDeclaration)?.getNameNode();
  const at = (owner as { getParameters?(): Node[] } | undefined)?.getParameters?.().indexOf(value) ?? -1;
  if (!Node.isIdentifier(name) || at < 0) return undefined;
  const calls = [...migration.units.keys()].flatMap((file) =>
    file
      .getDescendantsOfKind(SyntaxKind.CallExpression)
      .filter(
        (call) =>
          call.getExpression().getText() === name.getText() && followName(call.getExpression()) === followName(name),
      ),
  );
  const [only, more] = calls;
  return only && !more ? followName(unwrap(only.getArguments()[at])) : undefined;
}
