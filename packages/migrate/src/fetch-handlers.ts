/**
 * Handlers for web requests: `createMcpHandler` of `agents`, of the SDK v2 and of `mcp-handler`; and `serveStdio` of the SDK v2.
 *
 * @module
 */
import { type CallExpression, Node, type PropertyAccessExpression, type Statement, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import type { Nested } from "./edits.ts";
import { replaceSource } from "./factories.ts";
import { dedent, freeName } from "./names.ts";
import { memberOf, textOf } from "./object-parts.ts";
import { hasOAuthProvider, propsPlugin } from "./props.ts";
import { isIndependentOf, topStatement, usesOf } from "./scopes.ts";
import { asFunction, rangeOf, type Unit, unwrap } from "./unit.ts";

/** Options that this kit does not need. */
const IGNORED = new Set([
  "route",
  "legacy",
  "onerror",
  "enableJsonResponse",
  "sessionIdGenerator",
  "maxDuration",
  "verboseLogs",
  "redisUrl",
  "disableSse",
]);

/** Migrates every handler of a file. */
export function migrateFetchHandlers(migration: Migration, unit: Unit): void {
  for (const call of unit.file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    const name = importedName(unit, call.getExpression());
    if (name === undefined) continue;
    if (name.imported === "serveStdio") migrateServeStdio(migration, unit, call);
    if (name.imported === "createMcpHonoApp") replaceApp(unit, call);
    if (name.imported !== "createMcpHandler" && name.imported !== "default") continue;
    if (/mcp-handler|mcp-adapter/.test(name.module)) migrateInitializer(migration, unit, call);
    else if (name.imported === "createMcpHandler") migrateHandler(migration, unit, call);
  }
}

function importedName(unit: Unit, callee: Node): { module: string; imported: string } | undefined {
  if (!Node.isIdentifier(callee)) return undefined;
  for (const declaration of unit.file.getImportDeclarations()) {
    const module = declaration.getModuleSpecifierValue();
    if (!/^(@modelcontextprotocol\/(server|hono)(\/|$)|agents\/mcp|mcp-handler$|@vercel\/mcp-adapter$)/.test(module))
      continue;
    if (declaration.getDefaultImport()?.getText() === callee.getText()) return { module, imported: "default" };
    const found = declaration
      .getNamedImports()
      .find((each) => (each.getAliasNode() ?? each.getNameNode()).getText() === callee.getText());
    if (found) return { module, imported: found.getName() };
  }
  return undefined;
}

/** `serveStdio(createServer)` takes a function in the SDK v2, and the server here. */
function migrateServeStdio(migration: Migration, unit: Unit, call: CallExpression): void {
  const [source] = call.getArguments();
  unit.need("mcp-edge/node", "serveStdio");
  if (source) replaceSource(migration, unit, source);
}

/** Replaces an app that checks hosts, because the endpoint has its own checks. */
function replaceApp(unit: Unit, call: CallExpression): void {
  unit.need("hono", "Hono");
  unit.replace(call, "new Hono()");
}

function migrateHandler(migration: Migration, unit: Unit, call: CallExpression): void {
  const [source, options] = call.getArguments();
  if (!source) return;
  migration.topics.add("http");
  const literal = unwrap(options);
  if (Node.isObjectLiteralExpression(literal)) {
    for (const property of literal.getProperties()) {
      const name = Node.isSpreadAssignment(property) ? "..." : property.getName();
      if (name === "corsOptions")
        unit.todo(call, "Write allowedOrigins in the options of edge() instead of corsOptions.");
      else if (!IGNORED.has(name)) unit.todo(call, `The option ${name} has no counterpart in edge().`);
    }
  }
  unit.need("mcp-edge/worker", "edge");
  replaceSource(migration, unit, source);
  const path = memberOf(options, "route") ?? routeOf(unit, call);
  const named = nameServer(unit, call, source);
  const use = migration.usesProps ? writePlugin(migration, unit, call) : undefined;
  const text = (nested: Nested) => {
    const members = [...(path ? pathMembers(path, nested) : []), ...(use === undefined ? [] : [`use: [${use}]`])];
    return `edge(${named ?? nested(rangeOf(source))}${members.length > 0 ? `, { ${members.join(", ")} }` : ""})`;
  };
  const outer = call.getParent();
  const isCalled = Node.isCallExpression(outer) && outer.getExpression() === call;
  const statement = isCalled
    ? call.getFirstAncestor((each) => Node.isStatement(each) && Node.isSourceFile(each.getParent()))
    : undefined;
  if (isCalled) for (const given of outer.getArguments().slice(1, 2)) typeBindings(unit, given);
  if (isCalled && statement && isIndependentOf(source, statement)) {
    hoist(unit, call, statement as Statement, text);
    return;
  }
  unit.replace(call, (nested) => `${text(nested)}${isCalled ? ".fetch" : ""}`);
  const declaration = call.getParentIfKind(SyntaxKind.VariableDeclaration);
  if (declaration) callFetch(unit, declaration.getNameNode(), named);
}

/** Methods of the notifier of a handler, which are methods of a server here. */
const NOTIFIES = new Set(["resourceUpdated", "toolsChanged", "promptsChanged", "resourcesChanged"]);

/** Declares the server before its endpoint if the program sends notifications through it. Returns the name of the variable. */
function nameServer(unit: Unit, call: CallExpression, source: Node): string | undefined {
  const declaration = call.getParentIfKind(SyntaxKind.VariableDeclaration);
  const statement = declaration?.getFirstAncestorByKind(SyntaxKind.VariableStatement);
  if (!declaration || !statement || !usesOf(declaration.getNameNode()).some((use) => notifyCall(use))) return undefined;
  const name = freeName(unit, ["mcpServer", "notifyingServer"]);
  const isTyped = !/\.[cm]?jsx?$/.test(unit.path);
  if (isTyped) unit.need("mcp-edge", "type McpServer");
  const { newline } = unit;
  const indent = unit.indentAt(statement.getStart());
  // The type is explicit, because the function that creates the server may refer to the variable.
  unit.edits.replace(
    { start: statement.getStart(), end: statement.getStart() },
    (nested) => `const ${name}${isTyped ? ": McpServer" : ""} = ${nested(rangeOf(source))};${newline}${indent}`,
  );
  return name;
}

/** The call of `handler.notify.method()` for a use of the handler. */
function notifyCall(use: Node): PropertyAccessExpression | undefined {
  const notifier = use.getParent();
  const method = notifier?.getParent();
  if (!Node.isPropertyAccessExpression(notifier) || notifier.getName() !== "notify") return undefined;
  return Node.isPropertyAccessExpression(method) && NOTIFIES.has(method.getName()) ? method : undefined;
}

/** Adds a type assertion to bindings of an unknown type, because Hono expects an object. */
function typeBindings(unit: Unit, given: Node): void {
  const type = given.getType();
  if ((type.isUnknown() || type.isAny()) && !/\.[cm]?jsx?$/.test(unit.path))
    unit.edits.insert(given.getEnd(), " as object");
}

/** The path is left out if it is the default. */
function pathMembers(path: Node | string, nested: Nested): string[] {
  const text = typeof path === "string" ? JSON.stringify(path) : nested(rangeOf(path));
  return /^["'`]\/mcp["'`]$/.test(text) ? [] : [`path: ${text}`];
}

/** Inserts the plugin that passes on the props of the user before the statement of the handler. Returns its entry for the option `use`. */
function writePlugin(migration: Migration, unit: Unit, call: CallExpression): string {
  const { before, use } = propsPlugin(migration, unit, { hasProvider: hasOAuthProvider(migration), env: "unknown" });
  const statement = topStatement(call);
  unit.edits.once("props", () => unit.edits.insert(statement?.getStart() ?? 0, before));
  return use;
}

/** The path of the route that calls the handler, as in `app.all("/mcp", (c) => handler.fetch(c.req.raw))`. */
function routeOf(unit: Unit, call: CallExpression): string | undefined {
  const adapter = call.getParentIfKind(SyntaxKind.CallExpression);
  const [name, adapted] = [call, adapter].map((each) =>
    each?.getParentIfKind(SyntaxKind.VariableDeclaration)?.getName(),
  );
  const direct = [`${name}.fetch`, `toNodeHandler(${name})`, `toNodeHandler(${call.getText()})`];
  const nodes = unit.file
    .getVariableDeclarations()
    .filter((each) => direct.includes(each.getInitializer()?.getText() ?? ""))
    .map((each) => each.getName());
  const names = [...nodes, ...(adapted === undefined ? [] : [adapted])];
  for (const each of unit.file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    const [path, handler] = each.getArguments();
    if (!Node.isStringLiteral(path) || !handler) continue;
    const text = handler.getText();
    const isUsed = names.some((one) => text === one || text.includes(`${one}(`));
    if (isUsed || direct.some((one) => text.includes(one))) return path.getLiteralValue();
  }
  return undefined;
}

/** Creates the endpoint once, before the statement that uses it, instead of for each request. */
function hoist(unit: Unit, call: CallExpression, statement: Statement, text: (nested: Nested) => string): void {
  const name = freeName(unit, ["app", "mcpApp"]);
  unit.edits.replace(
    { start: statement.getStart(), end: statement.getStart() },
    (nested) => `const ${name} = ${text(nested)};${unit.newline}${unit.newline}`,
  );
  unit.replace(call, `${name}.fetch`);
}

/** Calls of the handler itself become calls of `fetch` of the app. */
function callFetch(unit: Unit, name: Node, server: string | undefined): void {
  if (!Node.isIdentifier(name)) return;
  for (const reference of usesOf(name)) {
    const parent = reference.getParent();
    if (Node.isCallExpression(parent) && parent.getExpression() === reference)
      unit.edits.insert(reference.getEnd(), ".fetch");
    const access = parent?.getParent();
    const notified = notifyCall(reference);
    if (notified && server !== undefined) {
      unit.replace(notified, `${server}.${notified.getName()}`);
      continue;
    }
    if (Node.isPropertyAccessExpression(parent) && parent.getName() === "notify" && access) {
      unit.todo(
        access,
        "Notifications to clients are sent by the server: server.resourceUpdated(uri), server.toolsChanged().",
      );
    }
  }
}

/** `createMcpHandler((server) => { ... }, options)` of `mcp-handler`: the server is created before, and the handler calls the app. */
function migrateInitializer(migration: Migration, unit: Unit, call: CallExpression): void {
  const [initialize, options, config] = call.getArguments();
  const handler = asFunction(unwrap(initialize));
  const declaration = call.getParentIfKind(SyntaxKind.VariableDeclaration);
  const statement = call.getFirstAncestor((each) => Node.isStatement(each) && Node.isSourceFile(each.getParent()));
  const body = handler?.getBody();
  const parameter = handler?.getParameters()[0];
  if (!handler || !statement || !Node.isBlock(body) || !Node.isIdentifier(parameter?.getNameNode())) {
    unit.todo(call, "Create the server with new McpServer(), and serve it with edge(server).");
    return;
  }
  migration.topics.add("http");
  unit.need("mcp-edge", "McpServer");
  unit.need("mcp-edge/worker", "edge");
  const server = parameter.getName();
  const app = freeName(unit, ["app", "mcpApp"]);
  const path = pathFor(unit.path, textOf(config, "basePath") ?? textOf(options, "basePath"));
  const request = declaration && unit.path.endsWith(".js") ? "request" : "request: Request";
  const statements = body.getStatements();
  const [first] = statements;
  const last = statements.at(-1);
  unit.edits.replace({ start: statement.getStart(), end: statement.getStart() }, (nested) => {
    const info = memberOf(options, "serverInfo");
    const instructions = memberOf(options, "instructions");
    const identity = info ? nested(rangeOf(info)) : '{ name: "mcp-typescript server on vercel", version: "0.1.0" }';
    const whole = instructions ? `{ ...${identity}, instructions: ${nested(rangeOf(instructions))} }` : identity;
    const inner = first && last ? nested({ start: first.getStart(), end: last.getEnd() }) : "";
    const indent = first ? unit.indentAt(first.getStart()) : "";
    const { newline } = unit;
    return `const ${server} = new McpServer(${whole});${newline}${newline}${dedent(inner, 1, indent)}${newline}${newline}const ${app} = edge(${server}${path === "/mcp" ? "" : `, { path: ${JSON.stringify(path)} }`});${newline}`;
  });
  unit.replace(call, `(${request}) => ${app}.fetch(request)`);
}

/** The path of a route of Next.js, from the name of its file; otherwise from the option. */
function pathFor(file: string, base: string | undefined): string {
  const route = /(?:^|\/)app\/(.*)\/route\.[cm]?[jt]sx?$/.exec(file)?.[1];
  if (route !== undefined) {
    const parts = route.split("/").filter((part) => !/^\(.*\)$/.test(part));
    return `/${parts.map((part) => (/^\[.*\]$/.test(part) ? "mcp" : part)).join("/")}`;
  }
  return base === undefined ? "/mcp" : `${base.replace(/\/$/, "")}/mcp`;
}
