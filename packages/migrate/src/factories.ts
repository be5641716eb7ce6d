/**
 * Functions that create a server for each connection or request. Here one server serves all clients, so what such a function reads of the
 * connection is read from the context of a handler instead.
 *
 * @module
 */
import { type CallExpression, Node, type ParameterDeclaration, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import { usesOf } from "./scopes.ts";
import { asFunction, followName, isFunction, rangeOf, type Unit, unwrap } from "./unit.ts";
import { migrateAuth } from "./uses.ts";

/** The maximum depth of calls through which the argument of the function is followed. */
const DEPTH_MAX = 4;

/** Replaces a function that creates a server with the server. Leaves a note if the function uses its argument in an unsupported way. */
export function replaceSource(migration: Migration, unit: Unit, source: Node): void {
  const value = followName(source);
  if (!isFunction(value)) return;
  const [facts, ...others] = value.getParameters();
  const steps: (() => void)[] = [];
  if (others.some((each) => !each.isOptional()) || (facts && !readsFacts(migration, facts, steps))) {
    unit.todo(
      source,
      "The function gets (request, env, principal) here, and only for HTTP; ctx of a handler has era, auth and env.",
    );
    return;
  }
  for (const step of steps) step();
  const inPlace = asFunction(source);
  if (!inPlace) {
    unit.replace(source, (nested) => `${value.isAsync() ? "await " : ""}${nested(rangeOf(source))}()`);
    return;
  }
  const body = inPlace.getBody();
  if (Node.isBlock(body)) unit.replace(source, (nested) => `(${nested(rangeOf(source))})()`);
  else unit.replace(source, (nested) => nested(rangeOf(body)));
}

/**
 * Whether every use of the parameter can be replaced by the context of a handler. Adds the steps that rewrite these uses, and that remove
 * the parameter with its arguments.
 */
function readsFacts(migration: Migration, parameter: ParameterDeclaration, steps: (() => void)[], depth = 0): boolean {
  const owner = parameter.getParent();
  const unit = migration.unitOf(parameter);
  const name = parameter.getNameNode();
  if (!unit || depth > DEPTH_MAX || !isFunction(owner) || !Node.isIdentifier(name)) return false;
  const at = owner.getParameters().indexOf(parameter);
  const calls = callsOf(migration, owner);
  if (calls.some((call) => !isRemovable(call.getArguments()[at]))) return false;
  for (const use of usesOf(name)) {
    const parent = use.getParent();
    if (Node.isCallExpression(parent) && parent.getArguments().includes(use)) {
      const target = followName(parent.getExpression());
      const next = isFunction(target) ? target.getParameters()[parent.getArguments().indexOf(use)] : undefined;
      if (!next || !readsFacts(migration, next, steps, depth + 1)) return false;
    } else if (!addRead(migration, unit, use, steps)) return false;
  }
  steps.push(() => {
    unit.edits.once(`fact ${parameter.getStart()}`, () => removeItem(unit, owner.getParameters(), at));
    for (const call of calls) {
      const caller = migration.unitOf(call);
      caller?.edits.once(`facts ${call.getStart()}`, () => removeItem(caller, call.getArguments(), at));
    }
  });
  return true;
}

/** Adds the step for a read of `era` or `authInfo` in a handler. */
function addRead(migration: Migration, unit: Unit, use: Node, steps: (() => void)[]): boolean {
  const access = use.getParent();
  if (!Node.isPropertyAccessExpression(access) || access.getExpression() !== use) return false;
  const member = access.getName();
  if (!(member === "era" || member === "authInfo") || !migration.plans.hasContext(use)) return false;
  steps.push(() => {
    const context = migration.plans.contextFor(use) ?? "ctx";
    if (member === "era") unit.replace(access, `${context}.client.era`);
    else migrateAuth(unit, access, () => context);
  });
  return true;
}

/** The calls of a function by its name. */
function callsOf(migration: Migration, owner: Node): CallExpression[] {
  const name = Node.isFunctionDeclaration(owner)
    ? owner.getName()
    : owner.getParentIfKind(SyntaxKind.VariableDeclaration)?.getName();
  if (name === undefined) return [];
  return [...migration.units.keys()].flatMap((file) =>
    file
      .getDescendantsOfKind(SyntaxKind.CallExpression)
      .filter((call) => call.getExpression().getText() === name && followName(call.getExpression()) === owner),
  );
}

/** Whether an argument can be removed, because its evaluation does nothing. */
function isRemovable(argument: Node | undefined): boolean {
  const inner = unwrap(argument);
  if (inner === undefined || Node.isIdentifier(inner)) return true;
  return (
    Node.isObjectLiteralExpression(inner) &&
    inner
      .getProperties()
      .every((each) => Node.isPropertyAssignment(each) && Node.isLiteralExpression(each.getInitializer()))
  );
}

/** Removes an item of a list with the comma that belongs to it. */
function removeItem(unit: Unit, items: readonly Node[], at: number): void {
  const item = items[at];
  if (!item) return;
  const [before, after] = [items[at - 1], items[at + 1]];
  // x => ... has no parentheses.
  const isBare = item.getParent()?.getFirstChildByKind(SyntaxKind.OpenParenToken) === undefined;
  if (after) unit.edits.replace({ start: item.getStart(), end: after.getStart() }, "");
  else if (before) unit.edits.replace({ start: before.getEnd(), end: item.getEnd() }, "");
  else unit.replace(item, isBare ? "()" : "");
}
