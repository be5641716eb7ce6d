/**
 * Request handlers of the low-level `Server`: they stay as functions, and definitions of this kit call them.
 *
 * @module
 */
import { type CallExpression, Node, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import { freeName } from "./names.ts";
import { memberOf } from "./object-parts.ts";
import { isIndependentOf, originOf, topStatement } from "./scopes.ts";
import { asFunction, oldClass, rangeOf, type Unit, unwrap } from "./unit.ts";

/** Adds the option that replaces a request handler. */
export type AddOption = (server: Node, option: string) => void;

const METHODS: Readonly<Record<string, string>> = {
  ListToolsRequestSchema: "tools/list",
  CallToolRequestSchema: "tools/call",
  ListPromptsRequestSchema: "prompts/list",
  GetPromptRequestSchema: "prompts/get",
  ListResourcesRequestSchema: "resources/list",
  ListResourceTemplatesRequestSchema: "resources/templates/list",
  ReadResourceRequestSchema: "resources/read",
  SubscribeRequestSchema: "resources/subscribe",
  UnsubscribeRequestSchema: "resources/unsubscribe",
  SetLevelRequestSchema: "logging/setLevel",
  RootsListChangedNotificationSchema: "notifications/roots/list_changed",
};

function methodOf(node: Node | undefined): string | undefined {
  const inner = unwrap(node);
  if (Node.isStringLiteral(inner)) return inner.getLiteralValue();
  const name = inner?.getText() ?? "";
  return Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
}

interface Found {
  readonly unit: Unit;
  readonly call: CallExpression;
  readonly handler: Node;
  readonly server: Node;
}

/** Migrates the calls of `setRequestHandler` and `setNotificationHandler` of one file. */
export function migrateLowLevel(migration: Migration, unit: Unit, calls: readonly CallExpression[]): void {
  const found = new Map<string, Found>();
  for (const call of calls) {
    const callee = call.getExpression();
    const [schema, handler] = call.getArguments();
    if (!Node.isPropertyAccessExpression(callee) || !handler) continue;
    const method = methodOf(schema);
    if (method === undefined) {
      unit.commentOut(call, "This method has no counterpart: define a custom method with server.method().");
      continue;
    }
    found.set(method, { unit, call, handler, server: callee.getExpression() });
  }
  migrateTools(migration, found.get("tools/list"), found.get("tools/call"));
  migratePrompts(migration, found.get("prompts/list"), found.get("prompts/get"));
  migrateProvider(migration, found);
  migrateSubscriptions(migration, found.get("resources/subscribe"), "onSubscribe");
  migrateSubscriptions(migration, found.get("resources/unsubscribe"), "onUnsubscribe");
  migrateRoots(migration, found.get("notifications/roots/list_changed"));
  const level = found.get("logging/setLevel");
  level?.unit.commentOut(level.call, "The kit serves logging/setLevel itself.");
}

/** The statement that consists of a call. */
function statementIn(call: CallExpression): Node {
  const parent = call.getParent();
  return Node.isExpressionStatement(parent) ? parent : call;
}

/** The list in `async () => ({ tools: [...] })`; undefined if it depends on the request. */
function listIn(handler: Node, member: string): Node | undefined {
  const inner = asFunction(unwrap(handler));
  if (!inner || inner.getParameters().length > 0) return undefined;
  const body = inner.getBody();
  if (!Node.isBlock(body)) return memberOf(body, member);
  const [statement] = body.getStatements();
  if (body.getStatements().length !== 1 || !Node.isReturnStatement(statement)) return undefined;
  return memberOf(statement.getExpression(), member);
}

function migrateTools(migration: Migration, list: Found | undefined, call: Found | undefined): void {
  if (!list && !call) return;
  const one = list ?? call;
  const tools = list && listIn(list.handler, "tools");
  if (!list || !call || !tools) {
    one?.unit.todo(one.call, "Define each tool with server.tool(): its list is not constant.");
    return;
  }
  const { unit } = call;
  const [listName, callName] = [
    freeName(unit, ["tools", "toolList", "listedTools"]),
    freeName(unit, ["callTool", "callListedTool"]),
  ];
  const server = serverText(call.server);
  unit.need("mcp-edge/json-schema", "jsonSchema");
  const isName = Node.isIdentifier(unwrap(tools));
  unit.replace(list.call, (nested) =>
    isName
      ? `// The tools are defined below, from ${nested(rangeOf(tools))}`
      : `const ${listName} = ${nested(rangeOf(tools))}`,
  );
  addHandler(migration, call, "_args");
  const { newline } = unit;
  const indent = unit.indentAt(call.call.getStart());
  const used = isName ? tools.getText() : listName;
  unit.replace(statementIn(call.call), (nested) => {
    const lines = [
      `const ${callName} = ${nested(rangeOf(call.handler))};`,
      `for (const { name, inputSchema, outputSchema: _output, ...listed } of ${used} as readonly { name: string; inputSchema: object; outputSchema?: object }[]) {`,
      `  ${server}.tool(name, { ...listed, input: jsonSchema({ ...inputSchema }) }, (args${takesContext(migration, call.handler) ? ", ctx" : ""}) =>`,
      `    ${callName}({ params: { name, arguments: args as Record<string, never> } }${takesContext(migration, call.handler) ? ", ctx" : ""}),`,
      "  );",
      "}",
    ];
    return lines.join(newline + indent);
  });
  fixRequestType(unit, call.handler, "{ params: { name: string; arguments: Record<string, any> } }");
}

function migratePrompts(migration: Migration, list: Found | undefined, get: Found | undefined): void {
  if (!list && !get) return;
  const one = list ?? get;
  const prompts = list && listIn(list.handler, "prompts");
  if (!list || !get || !prompts) {
    one?.unit.todo(one.call, "Define each prompt with server.prompt(): its list is not constant.");
    return;
  }
  const { unit } = get;
  const [listName, getName] = [
    freeName(unit, ["prompts", "promptList"]),
    freeName(unit, ["getPrompt", "getListedPrompt"]),
  ];
  const isName = Node.isIdentifier(unwrap(prompts));
  unit.replace(list.call, (nested) =>
    isName
      ? `// The prompts are defined below, from ${nested(rangeOf(prompts))}`
      : `const ${listName} = ${nested(rangeOf(prompts))}`,
  );
  unit.need("mcp-edge", "type PromptReturn");
  addHandler(migration, get, "_args");
  const indent = unit.indentAt(get.call.getStart());
  unit.replace(statementIn(get.call), (nested) =>
    [
      `const ${getName} = ${nested(rangeOf(get.handler))};`,
      `for (const { name, ...listed } of ${isName ? prompts.getText() : listName}) {`,
      `  ${serverText(get.server)}.prompt(name, listed, async (args${takesContext(migration, get.handler) ? ", ctx" : ""}) => (await ${getName}({ params: { name, arguments: { ...args } } }${takesContext(migration, get.handler) ? ", ctx" : ""})) as PromptReturn);`,
      "}",
    ].join(unit.newline + indent),
  );
  fixRequestType(unit, get.handler, "{ params: { name: string; arguments?: Record<string, any> } }");
}

/** Migrates `resources/list` and `resources/read` to a provider. A template is listed only if it is defined by itself. */
function migrateProvider(migration: Migration, found: ReadonlyMap<string, Found>): void {
  const list = found.get("resources/list");
  const read = found.get("resources/read");
  const templates = found.get("resources/templates/list");
  templates?.unit.commentOut(templates.call, "Define each resource template with server.resourceTemplate().");
  if (!read) {
    list?.unit.commentOut(list.call, "Resources that are listed need a reader: server.resource().");
    return;
  }
  const { unit } = read;
  addHandler(migration, read, "_uri");
  if (list) {
    addHandler(migration, list, "_uri");
    unit.replace(list.call, "");
    const statement = list.call.getFirstAncestorByKind(SyntaxKind.ExpressionStatement);
    if (statement) unit.remove(statement);
  }
  unit.replace(read.call, (nested) => {
    const listed = list
      ? `list: async (${takesContext(migration, list.handler) ? "ctx" : ""}) => (await (${nested(rangeOf(list.handler))})(${listArguments(list.handler)})).resources, `
      : "";
    const context = takesContext(migration, read.handler);
    return `${serverText(read.server)}.resourceProvider({ ${listed}read: async (uri${context ? ", ctx" : ""}) => (${nested(rangeOf(read.handler))})({ params: { uri } }${context ? ", ctx" : ""}) })`;
  });
  fixRequestType(unit, read.handler, "{ params: { uri: string } }");
}

function listArguments(handler: Node): string {
  const count = asFunction(unwrap(handler))?.getParameters().length ?? 0;
  return count === 0 ? "" : count === 1 ? "{ params: {} }" : "{ params: {} }, ctx";
}

function migrateSubscriptions(
  migration: Migration,
  found: Found | undefined,
  option: "onSubscribe" | "onUnsubscribe",
): void {
  if (!found) return;
  const { unit, call, handler, server } = found;
  const created = createdBy(migration, server);
  const owner = created && migration.unitOf(created);
  const top = topStatement(call);
  const isMovable = top !== undefined && (createdInSameBlock(created, call) || isIndependentOf(handler, top));
  if (!created || owner !== unit || !isMovable) {
    unit.commentOut(
      call,
      `Subscriptions are served by the kit. To be notified of them, use the option ${option} of new McpServer().`,
    );
    return;
  }
  fixRequestType(unit, handler, "{ params: { uri: string } }");
  const statement = call.getFirstAncestorByKind(SyntaxKind.ExpressionStatement);
  if (statement) unit.remove(statement);
  migration.subscriptions.push({ created, option, handler });
}

/** The `new McpServer()` that an expression stands for. */
function createdBy(migration: Migration, server: Node): Node | undefined {
  const inner = unwrap(server);
  const low = Node.isPropertyAccessExpression(inner) && inner.getName() === "server" ? inner.getExpression() : inner;
  const value = low && originOf(migration, low);
  return Node.isNewExpression(value) ? value : undefined;
}

/** A handler in the same block as the server can use the same variables. */
function createdInSameBlock(created: Node | undefined, call: Node): boolean {
  return created !== undefined && blockOf(created) === blockOf(call);
}

function blockOf(node: Node): Node | undefined {
  return node.getFirstAncestor((each) => Node.isBlock(each) || Node.isSourceFile(each));
}

function migrateRoots(migration: Migration, found: Found | undefined): void {
  if (!found) return;
  const handler = asFunction(unwrap(found.handler));
  if (!handler) {
    found.unit.commentOut(found.call, "Use server.onRootsChanged().");
    return;
  }
  migration.plans.add({ unit: found.unit, handler, kind: "roots", lacksArguments: false, needsContext: false });
  found.unit.replace(found.call, (nested) => `${serverText(found.server)}.onRootsChanged(${nested(rangeOf(handler))})`);
}

/** Makes the context of a handler available in its body. */
function addHandler(migration: Migration, { unit, handler }: Found, _filler: string): void {
  const inner = asFunction(unwrap(handler));
  if (inner) migration.plans.add({ unit, handler: inner, kind: "tool", lacksArguments: false, needsContext: false });
}

/** Whether a handler takes the context. This is known only after all steps, because they can add the parameter. */
function takesContext(migration: Migration, handler: Node): boolean {
  const inner = asFunction(unwrap(handler));
  return (inner?.getParameters().length ?? 0) > 1 || (inner !== undefined && migration.plans.needsContext(inner));
}

/** A parameter that was typed by the old SDK gets a type of its own. */
function fixRequestType(unit: Unit, handler: Node, type: string): void {
  const parameter = asFunction(unwrap(handler))?.getParameters()[0];
  if (!parameter || unit.path.endsWith("js")) return;
  const annotation = parameter.getTypeNode();
  if (annotation) unit.replace(annotation, type);
  else if (!parameter.getParentIfKind(SyntaxKind.ArrowFunction)?.getFirstChildByKind(SyntaxKind.OpenParenToken))
    unit.replace(parameter, `(${parameter.getText()}: ${type})`);
  else unit.edits.insert(parameter.getNameNode().getEnd(), `: ${type}`);
}

/** The name of the server of this kit. */
function serverText(server: Node): string {
  const inner = unwrap(server) ?? server;
  if (
    Node.isPropertyAccessExpression(inner) &&
    inner.getName() === "server" &&
    oldClass(inner.getExpression()) === "mcpServer"
  ) {
    return inner.getExpression().getText();
  }
  return inner.getText();
}
