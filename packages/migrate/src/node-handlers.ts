/**
 * `toNodeHandler(handler)` of the SDK v2, in a server of Node or in a route of Express.
 *
 * @module
 */
import { type CallExpression, Node, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import { isWithin, readApp, removeApp, writeServeHttp } from "./routes.ts";
import { usesOf } from "./scopes.ts";
import { rangeOf, type Unit } from "./unit.ts";

/** Migrates every call of a file. */
export function migrateNodeHandlers(migration: Migration, unit: Unit): void {
  const isImported = unit.file
    .getImportDeclarations()
    .some(
      (each) =>
        each.getModuleSpecifierValue() === "@modelcontextprotocol/node" &&
        each.getNamedImports().some((one) => one.getName() === "toNodeHandler"),
    );
  if (!isImported) return;
  for (const call of unit.file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    if (call.getExpression().getText() !== "toNodeHandler") continue;
    migration.topics.add("http");
    if (!serveInServer(unit, call) && !serveInApp(unit, call))
      unit.todo(call, "Serve the endpoint with serveHttp(app), at a port of its own if this program has other routes.");
  }
}

/** The places where the function for Node is used: the call itself, or the uses of the variable. */
function placesOf(call: CallExpression): readonly Node[] {
  const declaration = call.getParentIfKind(SyntaxKind.VariableDeclaration);
  return declaration ? usesOf(declaration.getNameNode()) : [call];
}

/** `createServer(toNodeHandler(handler)).listen(port)` */
function serveInServer(unit: Unit, call: CallExpression): boolean {
  const [handler] = call.getArguments();
  const [place, more] = placesOf(call);
  const created = place?.getParent();
  if (!handler || more || !Node.isCallExpression(created)) return false;
  if (!/^(http\.)?createServer$/.test(created.getExpression().getText()) || created.getArguments().length !== 1)
    return false;
  const access = created.getParent();
  const listen = access?.getParent();
  if (!Node.isPropertyAccessExpression(access) || access.getName() !== "listen" || !Node.isCallExpression(listen))
    return false;
  removeVariable(unit, call);
  writeServeHttp(unit, listen, (nested) => nested(rangeOf(handler)));
  return true;
}

/** `app.all("/mcp", (req, res) => void node(req, res, req.body))` */
function serveInApp(unit: Unit, call: CallExpression): boolean {
  const [handler] = call.getArguments();
  const places = placesOf(call);
  const isUsedBy = (route: Node) => places.some((place) => isWithin(place, route));
  const found = readApp(
    unit,
    (route) => isUsedBy(route.call) || (route.handler !== undefined && isUsedBy(route.handler)),
  );
  if (!handler || !found?.listen || found.others.length > 0) return false;
  const isLeft = places.some(
    (place) => !found.routes.some((route) => isWithin(place, route.call) || isWithin(place, route.handler)),
  );
  if (isLeft) return false;
  removeApp(unit, found);
  removeVariable(unit, call);
  writeServeHttp(unit, found.listen, (nested) => nested(rangeOf(handler)));
  return true;
}

function removeVariable(unit: Unit, call: CallExpression): void {
  const statement = call
    .getParentIfKind(SyntaxKind.VariableDeclaration)
    ?.getFirstAncestorByKind(SyntaxKind.VariableStatement);
  if (statement && statement.getDeclarations().length === 1) unit.removeWithComments(statement);
}
