/**
 * How a program serves its server: over stdio, or with routes of Express or Hono.
 *
 * @module
 */
import { type CallExpression, Node, type Statement, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import { memberOf, textOf } from "./object-parts.ts";
import { asFunction, followName, oldClass, rangeOf, type Unit, unwrap } from "./unit.ts";

/** Migrates `server.connect(transport)` for stdio. Returns whether the call was known. */
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
  // serveStdio() resolves when the input has ended, so what follows in the block comes first.
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
  // Declarations are in scope everywhere in the block.
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

/** The functions that create an app with routes. */
const APPS = /^(express|createMcpExpressApp|createMcpHonoApp|new Hono\b.*)$/s;
const ROUTE_METHODS = new Set(["get", "post", "delete", "all", "use", "options"]);

/**
 * Migrates a program whose routes create transports: the routes of the endpoint are removed, and `serveHttp(edge(server))` replaces
 * `listen()`. Only if every other route can stay in the way.
 */
export function migrateHttpRoutes(migration: Migration, unit: Unit): void {
  const created = unit.file
    .getDescendantsOfKind(SyntaxKind.NewExpression)
    .filter((each) => ["http", "webHttp", "sse"].includes(oldClass(each) ?? ""));
  if (created.length === 0) return;
  const routes = unit.file.getDescendantsOfKind(SyntaxKind.CallExpression).flatMap((call) => readRoute(call));
  const app = routes[0]?.app;
  const endpoints = new Set(
    routes
      .filter(({ call }) => created.some((each) => call.containsRange(each.getPos(), each.getEnd())))
      .map(({ path }) => path),
  );
  const path = [...endpoints].find((each) => !/sse|message/.test(each)) ?? "/mcp";
  const server = findServer(unit, created);
  const listen = unit.file.getDescendantsOfKind(SyntaxKind.CallExpression).find((call) => isListen(call, app));
  const others = routes.filter((route) => !endpoints.has(route.path) && !isMessages(route) && !isMiddleware(route));
  if (!app || !server || !listen || others.length > 0) {
    for (const each of created)
      unit.todo(each, "Serve the endpoint with edge() and serveHttp() instead of this transport.");
    return;
  }
  migration.topics.add("http");
  if (created.some((each) => oldClass(each) === "sse")) migration.topics.add("sse");
  for (const { call } of routes) unit.remove(call.getFirstAncestorByKind(SyntaxKind.ExpressionStatement) ?? call);
  removeUnused(unit, app, created);
  writeListen(unit, listen, server, path);
}

interface Route {
  readonly call: CallExpression;
  readonly app: string;
  readonly path: string;
  readonly method: string;
}

function readRoute(call: CallExpression): Route[] {
  const callee = call.getExpression();
  if (!Node.isPropertyAccessExpression(callee) || !ROUTE_METHODS.has(callee.getName())) return [];
  const receiver = callee.getExpression();
  const initializer = followName(receiver)?.getText().replace(/\(.*$/s, "") ?? "";
  if (!APPS.test(initializer)) return [];
  const path = unwrap(call.getArguments()[0]);
  const text = Node.isStringLiteral(path) ? path.getLiteralValue() : "";
  return [{ call, app: receiver.getText(), path: text, method: callee.getName() }];
}

/** Middleware for bodies, CORS and hosts: the endpoint does all of that. */
function isMiddleware({ method, path }: Route): boolean {
  return method === "use" && (path === "" || path === "*");
}

function isMessages({ path }: Route): boolean {
  return /^\/(messages?|sse)$/.test(path);
}

function isListen(call: CallExpression, app: string | undefined): boolean {
  const callee = call.getExpression();
  if (Node.isPropertyAccessExpression(callee))
    return callee.getName() === "listen" && callee.getExpression().getText() === app;
  return callee.getText() === "serve" && memberOf(call.getArguments()[0], "fetch")?.getText() === `${app}.fetch`;
}

/** The server that the routes connect: the name of a function that creates it, or of the server itself. */
function findServer(unit: Unit, created: readonly Node[]): string | undefined {
  for (const transport of created) {
    const scope = transport.getFirstAncestor((each) => asFunction(each) !== undefined) ?? unit.file;
    const connect = scope.getDescendantsOfKind(SyntaxKind.CallExpression).find((call) => {
      const callee = call.getExpression();
      return (
        Node.isPropertyAccessExpression(callee) &&
        callee.getName() === "connect" &&
        isServer(oldClass(callee.getExpression()))
      );
    });
    const callee = connect?.getExpression();
    if (!Node.isPropertyAccessExpression(callee)) continue;
    const name = callee.getExpression();
    const value = followName(name);
    const isInside =
      value && scope !== unit.file && value.getPos() >= scope.getPos() && value.getEnd() <= scope.getEnd();
    if (!isInside) return name.getText();
    if (Node.isCallExpression(value))
      return value.getArguments().length === 0 ? value.getExpression().getText() : `() => ${value.getText()}`;
  }
  return undefined;
}

const isServer = (name: string | undefined) => name === "mcpServer" || name === "server";

/** Removes the app, the table of transports, and what ends them. */
function removeUnused(unit: Unit, app: string, created: readonly Node[]): void {
  for (const statement of unit.file.getStatements()) {
    if (Node.isVariableStatement(statement)) {
      const [declaration] = statement.getDeclarations();
      const type = declaration?.getText() ?? "";
      if (
        declaration?.getName() === app ||
        /Transport\b/.test(type.replace(/=>[\s\S]*/, "")) ||
        /eventStore/i.test(declaration?.getName() ?? "")
      )
        unit.remove(statement);
    } else if (Node.isExpressionStatement(statement) && /^process\.on\(/.test(statement.getText())) {
      if (/transport/i.test(statement.getText())) unit.remove(statement);
    }
  }
  void created;
}

function writeListen(unit: Unit, listen: CallExpression, server: string, path: string): void {
  const [first] = listen.getArguments();
  const isServe = listen.getExpression().getText() === "serve";
  const port = isServe ? memberOf(first, "port") : first;
  unit.need("mcp-edge/worker", "edge");
  unit.need("mcp-edge/node", "serveHttp");
  const options = path === "/mcp" ? "" : `, { path: ${JSON.stringify(path)} }`;
  unit.replace(listen, (nested) => {
    const text = port ? nested(rangeOf(port)) : "";
    const isNumber = port?.getType().isNumber() || port?.getType().isNumberLiteral();
    return `await serveHttp(edge(${server}${options})${text === "" ? "" : `, { port: ${isNumber ? text : `Number(${text})`} }`})`;
  });
  void textOf;
}
