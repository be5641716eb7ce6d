/**
 * How a program serves its server over HTTP: with routes of Express or Hono that create transports.
 *
 * @module
 */
import { type CallExpression, Node, type Statement, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import { memberOf } from "./object-parts.ts";
import { usesOf } from "./scopes.ts";
import { followName, isFunction, oldClass, rangeOf, type Unit, unwrap } from "./unit.ts";

/** The functions that create an app with routes. */
const APPS = /^(express|createMcpExpressApp|createMcpHonoApp|new Hono\b.*)$/s;
const ROUTE_METHODS = new Set(["get", "post", "delete", "all", "use", "options"]);
const TRANSPORTS = new Set(["http", "webHttp", "sse"]);

/** A call that adds a route or middleware to an app. */
interface Route {
  readonly call: CallExpression;
  /** The app, as it is written. */
  readonly app: Node;
  readonly isHono: boolean;
  readonly path: string;
  readonly method: string;
  /** The function of the route, in place or by its name. */
  readonly handler: Node | undefined;
}

/**
 * Migrates a program whose routes create transports. If the app has only these routes, `serveHttp(edge(server))` replaces it and its
 * `listen()`. An app of Hono with other routes stays, and the endpoint is mounted in it.
 */
export function migrateHttpRoutes(migration: Migration, unit: Unit): void {
  const created = unit.file
    .getDescendantsOfKind(SyntaxKind.NewExpression)
    .filter((each) => TRANSPORTS.has(oldClass(each) ?? ""));
  if (created.length === 0) return;
  const routes = unit.file.getDescendantsOfKind(SyntaxKind.CallExpression).flatMap((call) => readRoute(call));
  const own = routes.filter((route) =>
    created.some((each) => isWithin(each, route.call) || isWithin(each, route.handler)),
  );
  const [app] = routes.map((route) => route.app);
  const paths = new Set(own.map(({ path }) => path));
  const path = [...paths].find((each) => !/sse|message/.test(each)) ?? "/mcp";
  const server = findServer(unit, created);
  const listen = unit.file
    .getDescendantsOfKind(SyntaxKind.CallExpression)
    .find((call) => isListen(call, app?.getText()));
  const ends = routes.filter((route) => paths.has(route.path) || isMessages(route));
  const others = routes.filter((route) => !ends.includes(route) && !isMiddleware(route));
  const [first] = own;
  if (app && server && first && others.length > 0 && first.isHono) {
    addTopics(migration, created);
    removeRoutes(
      unit,
      ends.filter((route) => route !== first),
    );
    removeUnused(unit, app, false);
    unit.need("mcp-edge/worker", "edge");
    unit.replace(first.call, `${app.getText()}.route("/", ${endpointText(server, path)})`);
    removeHandlers(unit, ends);
  } else if (app && server && listen && others.length === 0) {
    addTopics(migration, created);
    removeRoutes(unit, routes);
    removeHandlers(unit, routes);
    removeUnused(unit, app, true);
    writeListen(unit, listen, server, path);
  } else {
    for (const each of created)
      unit.todo(each, "Serve the endpoint with edge() and serveHttp() instead of this transport.");
  }
}

function addTopics(migration: Migration, created: readonly Node[]): void {
  migration.topics.add("http");
  if (created.some((each) => oldClass(each) === "sse")) migration.topics.add("sse");
}

function readRoute(call: CallExpression): Route[] {
  const callee = call.getExpression();
  if (!Node.isPropertyAccessExpression(callee) || !ROUTE_METHODS.has(callee.getName())) return [];
  const app = callee.getExpression();
  const initializer = followName(app)?.getText().replace(/\(.*$/s, "") ?? "";
  if (!APPS.test(initializer)) return [];
  const path = unwrap(call.getArguments()[0]);
  const handler = followName(call.getArguments().at(-1));
  return [
    {
      call,
      app,
      isHono: /Hono/.test(initializer),
      path: Node.isStringLiteral(path) ? path.getLiteralValue() : "",
      method: callee.getName(),
      handler: isFunction(handler) ? handler : undefined,
    },
  ];
}

function isWithin(node: Node, outer: Node | undefined): boolean {
  return outer?.getSourceFile() === node.getSourceFile() && outer.containsRange(node.getPos(), node.getEnd());
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
    const scope = transport.getFirstAncestor((each) => isFunction(each)) ?? unit.file;
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
    if (!value || scope === unit.file || !isWithin(value, scope)) return name.getText();
    if (Node.isCallExpression(value))
      return value.getArguments().length === 0 ? value.getExpression().getText() : `() => ${value.getText()}`;
  }
  return undefined;
}

const isServer = (name: string | undefined) => name === "mcpServer" || name === "server";

function removeRoutes(unit: Unit, routes: readonly Route[]): void {
  for (const { call } of routes)
    unit.removeWithComments(call.getFirstAncestorByKind(SyntaxKind.ExpressionStatement) ?? call);
}

/** Removes the functions that only the removed routes use. */
function removeHandlers(unit: Unit, routes: readonly Route[]): void {
  for (const { handler } of routes) {
    const declaration = Node.isFunctionDeclaration(handler)
      ? handler
      : handler?.getParentIfKind(SyntaxKind.VariableDeclaration);
    const name = declaration?.getNameNode();
    const isLeft = name && usesOf(name).some((use) => !routes.some(({ call }) => isWithin(use, call)));
    const statement = Node.isFunctionDeclaration(declaration)
      ? declaration
      : declaration?.getFirstAncestorByKind(SyntaxKind.VariableStatement);
    const isAlone = !Node.isVariableStatement(statement) || statement.getDeclarations().length === 1;
    if (statement && statement.getSourceFile() === unit.file && !isLeft && isAlone) unit.removeWithComments(statement);
  }
}

/** Removes the app, the table of transports, and what ends them, from the blocks around the app. */
function removeUnused(unit: Unit, app: Node, removesApp: boolean): void {
  for (const statement of statementsAround(app)) {
    if (Node.isVariableStatement(statement)) {
      const [declaration] = statement.getDeclarations();
      const type = declaration?.getText() ?? "";
      const name = declaration?.getName() ?? "";
      const isTable = /Transport\b/.test(type.replace(/=>[\s\S]*/, "")) || /eventStore/i.test(name);
      if (isTable || (removesApp && name === app.getText())) unit.removeWithComments(statement);
    } else if (Node.isExpressionStatement(statement) && /^process\.on\(/.test(statement.getText())) {
      if (/transport/i.test(statement.getText())) unit.removeWithComments(statement);
    }
  }
}

/** The statements of the module, and those of the function in which the app is created. */
function statementsAround(app: Node): Statement[] {
  const blocks = app.getAncestors().filter((each) => Node.isBlock(each) || Node.isSourceFile(each));
  return blocks.flatMap((each) => (each as { getStatements(): Statement[] }).getStatements());
}

function endpointText(server: string, path: string): string {
  return `edge(${server}${path === "/mcp" ? "" : `, { path: ${JSON.stringify(path)} }`})`;
}

function writeListen(unit: Unit, listen: CallExpression, server: string, path: string): void {
  const [first] = listen.getArguments();
  const isServe = listen.getExpression().getText() === "serve";
  writeServeHttp(unit, listen, endpointText(server, path), isServe ? memberOf(first, "port") : first);
  unit.need("mcp-edge/worker", "edge");
}

/** Replaces a call that starts listening. The expression is the app of the endpoint. */
export function writeServeHttp(unit: Unit, listen: Node, app: string, port: Node | undefined): void {
  unit.need("mcp-edge/node", "serveHttp");
  const owner = listen.getFirstAncestor((each) => isFunction(each));
  const canWait = owner === undefined || (isFunction(owner) && owner.isAsync());
  unit.replace(listen, (nested) => {
    const text = port ? nested(rangeOf(port)) : "";
    const isNumber = port?.getType().isNumber() || port?.getType().isNumberLiteral();
    const options = text === "" ? "" : `, { port: ${isNumber ? text : `Number(${text})`} }`;
    return `${canWait ? "await" : "void"} serveHttp(${app}${options})`;
  });
}
