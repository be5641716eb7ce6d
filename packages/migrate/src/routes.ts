/**
 * Migrates servers that are served over HTTP by routes of Express or Hono that create transports.
 *
 * @module
 */
import { type CallExpression, Node, type Statement, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import type { Nested } from "./edits.ts";
import { memberOf } from "./object-parts.ts";
import { usesOf } from "./scopes.ts";
import { followName, isFunction, oldClass, rangeOf, type Unit, unwrap } from "./unit.ts";

/** The functions that create an app with routes. */
const APPS = /^(express|createMcpExpressApp|createMcpHonoApp|new Hono\b.*)$/s;
const ROUTE_METHODS = new Set(["get", "post", "delete", "all", "use", "options"]);
const TRANSPORTS = new Set(["http", "webHttp", "sse"]);

/** A call that adds a route or middleware to an app. */
export interface Route {
  readonly call: CallExpression;
  /** The expression for the app. */
  readonly app: Node;
  readonly isHono: boolean;
  readonly path: string;
  readonly method: string;
  /** The function of the route, inline or by its name. */
  readonly handler: Node | undefined;
}

/** An app and its routes. */
export interface RoutedApp {
  /** The expression for the app. */
  readonly app: Node;
  readonly routes: readonly Route[];
  /** The routes of the endpoint. */
  readonly ends: readonly Route[];
  /** Routes and middleware that the endpoint does not replace, such as those that authenticate. */
  readonly others: readonly Route[];
  /** The path of the endpoint. */
  readonly path: string;
  readonly first: Route;
  readonly listen: CallExpression | undefined;
}

/** Reads the app whose routes fulfil a condition; undefined if there is none. */
export function readApp(unit: Unit, isOwn: (route: Route) => boolean): RoutedApp | undefined {
  const routes = unit.file.getDescendantsOfKind(SyntaxKind.CallExpression).flatMap((call) => readRoute(call));
  const own = routes.filter(isOwn);
  const [first] = own;
  if (!first) return undefined;
  const paths = new Set(own.map(({ path }) => path));
  const ends = routes.filter((route) => isPlain(route) && (paths.has(route.path) || isMessages(route)));
  return {
    app: first.app,
    routes,
    ends,
    others: routes.filter((route) => !ends.includes(route) && !isMiddleware(route)),
    path: [...paths].find((each) => !/sse|message/.test(each)) ?? "/mcp",
    first,
    listen: unit.file
      .getDescendantsOfKind(SyntaxKind.CallExpression)
      .find((call) => isListen(call, first.app.getText())),
  };
}

/** Removes an app with all of its routes. */
export function removeApp(unit: Unit, { app, routes }: RoutedApp): void {
  removeRoutes(unit, routes);
  removeHandlers(unit, routes);
  removeUnused(unit, app, true);
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
  const found = readApp(unit, ({ call, handler }) =>
    created.some((each) => isWithin(each, call) || isWithin(each, handler)),
  );
  const server = findServer(unit, created);
  if (found && server && found.listen && found.others.length === 0) {
    addTopics(migration, created);
    removeApp(unit, found);
    unit.need("mcp-edge/worker", "edge");
    writeServeHttp(unit, found.listen, () => endpointText(server, found.path));
  } else if (found && server && found.first.isHono && isPlain(found.first)) {
    addTopics(migration, created);
    mount(unit, found, server);
  } else {
    for (const each of created)
      unit.todo(each, "Serve the endpoint with edge() and serveHttp() instead of this transport.");
  }
}

/** Mounts the endpoint in an app of Hono, in place of its first route. */
function mount(unit: Unit, { app, ends, first, path }: RoutedApp, server: string): void {
  removeRoutes(
    unit,
    ends.filter((route) => route !== first),
  );
  removeHandlers(unit, ends);
  removeUnused(unit, app, false);
  unit.need("mcp-edge/worker", "edge");
  unit.replace(first.call, `${app.getText()}.route("/", ${endpointText(server, path)})`);
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

/** Whether a node is part of another one. */
export function isWithin(node: Node, outer: Node | undefined): boolean {
  return outer?.getSourceFile() === node.getSourceFile() && outer.containsRange(node.getPos(), node.getEnd());
}

/** Middleware for bodies, CORS and hosts: the endpoint does all of that. Other middleware may authenticate, so it is not dropped. */
const REPLACED =
  /^(express|bodyParser)\.(json|urlencoded|raw|text)$|^(cors|hostHeaderValidation|localhost(Host|Origin)Validation)$/;

function isMiddleware({ call, method, path }: Route): boolean {
  if (method !== "use" || !(path === "" || path === "*" || path === "/*")) return false;
  return call
    .getArguments()
    .filter((each) => !Node.isStringLiteral(each))
    .every((each) => Node.isCallExpression(each) && REPLACED.test(each.getExpression().getText()));
}

/** Whether a route has a path and one function, and no middleware of its own. */
function isPlain({ call, method }: Route): boolean {
  return method !== "use" && call.getArguments().length === 2;
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

/** Returns the server that the routes connect: its name, or the name of the function that creates it. */
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
    if (Node.isCallExpression(value)) return factoryText(value);
  }
  return undefined;
}

/** Returns the function that creates a server, or its call if the function starts something that lasts as long as the server. */
function factoryText(call: CallExpression): string {
  const isLasting = /\.onclose\s*=|\bsetInterval\(/.test(followName(call.getExpression())?.getText() ?? "");
  if (isLasting) return call.getText();
  return call.getArguments().length === 0 ? call.getExpression().getText() : `() => ${call.getText()}`;
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

/** Removes the app, the table of transports, and the code that closes them, from the blocks around the app. */
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

/** Returns the statements of the module, and of the functions that enclose the app. */
function statementsAround(app: Node): Statement[] {
  const blocks = app.getAncestors().filter((each) => Node.isBlock(each) || Node.isSourceFile(each));
  return blocks.flatMap((each) => (each as { getStatements(): Statement[] }).getStatements());
}

function endpointText(server: string, path: string): string {
  return `edge(${server}${path === "/mcp" ? "" : `, { path: ${JSON.stringify(path)} }`})`;
}

/** Replaces a call that starts listening, of an app or of a server of Node. `app` is the text of the endpoint. */
export function writeServeHttp(unit: Unit, listen: CallExpression, app: (nested: Nested) => string): void {
  const [first, second] = listen.getArguments();
  const isServe = listen.getExpression().getText() === "serve";
  const port = isServe ? memberOf(first, "port") : isFunction(first) ? undefined : first;
  const host = isServe ? memberOf(first, "hostname") : isFunction(second) ? undefined : second;
  unit.need("mcp-edge/node", "serveHttp");
  const owner = listen.getFirstAncestor((each) => isFunction(each));
  const canWait = owner === undefined || (isFunction(owner) && owner.isAsync());
  unit.replace(listen, (nested) => {
    const members: string[] = [];
    if (port) members.push(`port: ${portText(port, nested(rangeOf(port)))}`);
    if (host) members.push(`hostname: ${nested(rangeOf(host))}`);
    const options = members.length > 0 ? `, { ${members.join(", ")} }` : "";
    return `${canWait ? "await" : "void"} serveHttp(${app(nested)}${options})`;
  });
}

function portText(port: Node, text: string): string {
  if (port.getType().isNumber() || port.getType().isNumberLiteral()) return text;
  return `Number(${text})`;
}
