/**
 * Subclasses of `McpAgent`: the server and what `init()` defines move out of the class, and an app of `edge()` takes its place.
 *
 * @module
 */
import { type ClassDeclaration, type MethodDeclaration, Node, type PropertyDeclaration, SyntaxKind } from "ts-morph";
import { type AddedOptions, migrateConstructor } from "./constructors.ts";
import type { Migration } from "./context.ts";
import type { Nested } from "./edits.ts";
import { dedent, freeName } from "./names.ts";
import { propsPlugin } from "./props.ts";
import { rangeOf, type Unit } from "./unit.ts";

/** Finds the subclasses of `McpAgent`, and migrates those that can be migrated. */
export function migrateAgents(migration: Migration, unit: Unit): void {
  for (const declaration of unit.file.getClasses()) {
    if (isAgent(declaration)) migrateAgent(migration, unit, declaration);
  }
}

/** Leaves a note at each class that cannot be migrated. Its file is then not changed otherwise. Returns whether there is one. */
export function refuseAgents(migration: Migration, unit: Unit): boolean {
  let isRefused = false;
  for (const declaration of unit.file.getClasses()) {
    if (!isAgent(declaration)) continue;
    const obstacle = findObstacle(readAgent(declaration));
    if (obstacle === undefined) continue;
    isRefused = true;
    migration.topics.add(/state|sql/.test(obstacle) ? "state" : "sessions");
    unit.todo(declaration, `${declaration.getName()} was not migrated: ${obstacle}`);
  }
  return isRefused;
}

function isAgent(declaration: ClassDeclaration): boolean {
  return declaration.getExtends()?.getExpression().getText() === "McpAgent";
}

/** The parts of a class. */
interface Agent {
  readonly declaration: ClassDeclaration;
  readonly server: PropertyDeclaration | undefined;
  readonly getter: Node | undefined;
  readonly init: MethodDeclaration | undefined;
  readonly others: readonly (PropertyDeclaration | MethodDeclaration | Node)[];
  readonly env: string | undefined;
  readonly props: string | undefined;
}

/** Members of the base class that handlers of this kit find in their context. */
const IN_CONTEXT = new Set(["env", "props"]);

function readAgent(declaration: ClassDeclaration): Agent {
  const [env, , props] = declaration.getExtends()?.getTypeArguments() ?? [];
  const server = declaration.getInstanceProperty("server");
  const init = declaration.getInstanceMethod("init");
  return {
    declaration,
    server: Node.isPropertyDeclaration(server) ? server : undefined,
    getter: Node.isGetAccessorDeclaration(server) ? server : undefined,
    init,
    others: declaration.getMembers().filter((each) => each !== server && each !== init && !isInitialState(each)),
    env: env?.getText(),
    props: props?.getText(),
  };
}

function migrateAgent(migration: Migration, unit: Unit, declaration: ClassDeclaration): void {
  const agent = readAgent(declaration);
  migration.topics.add("storage");
  migration.topics.add("sessions");
  migration.needsObjects = true;
  const isPlain = agent.others.length === 0 && !agent.getter && usesAreInHandlers(migration, agent);
  const names = writeServer(migration, unit, agent, isPlain);
  writeApp(migration, unit, agent, names);
}

function isInitialState(node: Node): boolean {
  return Node.isPropertyDeclaration(node) && node.getName() === "initialState";
}

/** What prevents the migration of a class; undefined if nothing does. */
function findObstacle({ declaration, server, getter, init, others }: Agent): string | undefined {
  if (!server && !getter) return "its server is not a member of the class.";
  if (server && !Node.isNewExpression(server.getInitializer())) return "its server is not created in place.";
  if (getter && (init?.getStatements().length ?? 0) > 0) return "it has both a getter for the server and an init().";
  if (declaration.getConstructors().length > 0) return "it has a constructor.";
  const own = new Set([
    "server",
    ...others.map((each) => ("getName" in each ? (each as MethodDeclaration).getName() : "")),
  ]);
  for (const use of declaration.getDescendantsOfKind(SyntaxKind.ThisKeyword)) {
    const access = use.getParent();
    if (!Node.isPropertyAccessExpression(access)) return "it passes `this` on.";
    const name = access.getName();
    if (own.has(name) || IN_CONTEXT.has(name)) continue;
    if (/^(state|setState|sql)$/.test(name))
      return `it uses this.${name}: keep such data in your own Durable Object or in D1 (docs/guides/data.md).`;
    return `it uses this.${name} of the base class.`;
  }
  if (declaration.getMembers().some((each) => "isStatic" in each && each.isStatic())) return "it has static members.";
  if (others.some((each) => Node.isMethodDeclaration(each) && /^on[A-Z]/.test(each.getName())))
    return "it overrides events of the base class.";
  return undefined;
}

function usesAreInHandlers(migration: Migration, { declaration }: Agent): boolean {
  return declaration.getDescendantsOfKind(SyntaxKind.ThisKeyword).every((use) => {
    const access = use.getParent();
    if (!Node.isPropertyAccessExpression(access)) return false;
    return access.getName() === "server" || migration.plans.hasContext(use);
  });
}

interface Names {
  /** The expression that is passed to `edge()`. */
  readonly source: string;
  readonly usesProps: boolean;
}

/** Writes the server as a constant, or as a function that creates it for each request. */
function writeServer(migration: Migration, unit: Unit, agent: Agent, isPlain: boolean): Names {
  const { declaration, env = "Env", props } = agent;
  const server = isPlain ? serverName(unit) : "server";
  const factory = freeName(unit, ["createServer", "createMcpServer"]);
  const usesProps = rewriteThis(migration, unit, agent, isPlain, server);
  const created =
    agent.server?.getInitializer() ??
    declaration
      .getDescendantsOfKind(SyntaxKind.NewExpression)
      .find((each) => each.getExpression().getText() === "McpServer");
  const added: AddedOptions = new Map();
  if (Node.isNewExpression(created)) migrateConstructor(migration, unit, created, added, env);
  unit.replace(declaration, (nested) => {
    if (isPlain) return plainText(unit, agent, server, nested);
    const parameters = [
      `${parameterName(agent, "env")}: ${env}`,
      `${parameterName(agent, "props")}: ${props ?? "unknown"}`,
    ].join(", ");
    const isAsync =
      agent.init
        ?.getDescendantsOfKind(SyntaxKind.AwaitExpression)
        .some((each) => migration.plans.around(each) === undefined) ?? false;
    const body = factoryBody(unit, agent, nested);
    const result = `McpServer<${env}>`;
    return `${isAsync ? "async " : ""}function ${factory}(${parameters}): ${isAsync ? `Promise<${result}>` : result} {${unit.newline}${body}${unit.newline}}`;
  });
  if (isPlain) return { source: server, usesProps };
  const claims = usesProps ? `principal?.claims as ${props ?? "unknown"}` : "undefined as never";
  return {
    source: `(_request, env: ${env}${usesProps ? ", principal" : ""}) => ${factory}(env, ${claims})`,
    usesProps,
  };
}

/** Returns a name for the server. A class member named `server` is no conflict, because it is not a name of the module. */
function serverName(unit: Unit): string {
  const isDeclared =
    unit.file.getVariableDeclaration("server") !== undefined || unit.file.getFunction("server") !== undefined;
  const isImported = unit.file
    .getImportDeclarations()
    .some((each) => /\bserver\b/.test(each.getImportClause()?.getText() ?? ""));
  return isDeclared || isImported ? freeName(unit, ["mcpServer"]) : "server";
}

/** Replaces `this.server`, `this.env`, `this.props` and the members of the class. Returns whether the props are used. */
function rewriteThis(migration: Migration, unit: Unit, agent: Agent, isPlain: boolean, server: string): boolean {
  let usesProps = false;
  for (const use of agent.declaration.getDescendantsOfKind(SyntaxKind.ThisKeyword)) {
    const access = use.getParent();
    if (!Node.isPropertyAccessExpression(access)) continue;
    const name = access.getName();
    const isProps = name === "props";
    usesProps ||= isProps;
    if (name === "server") unit.replace(access, server);
    else if (isPlain) {
      const context = migration.plans.contextFor(use) ?? "ctx";
      unit.replace(
        access,
        isProps ? `(${context}.auth?.claims as ${agent.props ?? "never"} | undefined)` : `${context}.env`,
      );
    } else unit.replace(access, memberText(unit, agent, name));
  }
  return usesProps;
}

function memberText(unit: Unit, agent: Agent, name: string): string {
  if (IN_CONTEXT.has(name)) return parameterName(agent, name);
  const member = agent.others.find((each) => "getName" in each && (each as MethodDeclaration).getName() === name);
  const local = localName(unit, agent, name);
  return Node.isGetAccessorDeclaration(member) ? `${local}()` : local;
}

/** Returns the name of the parameter for the bindings or the props, which must differ from variables that the class declares. */
function parameterName({ declaration }: Agent, name: string): string {
  const isDeclared = (node: Node) =>
    (Node.isVariableDeclaration(node) || Node.isParameterDeclaration(node) || Node.isBindingElement(node)) &&
    node.getName() === name;
  if (!declaration.getDescendants().some(isDeclared)) return name;
  return name === "env" ? "bindings" : "claims";
}

/** Returns the name of the variable for a class member: a different one if the module already uses the member's name. */
function localName(unit: Unit, { declaration }: Agent, name: string): string {
  const isTaken = unit.file
    .getDescendantsOfKind(SyntaxKind.Identifier)
    .some(
      (each) =>
        each.getText() === name &&
        !Node.isPropertyAccessExpression(each.getParent()) &&
        each.getParent()?.getParent() !== declaration,
    );
  return isTaken ? `own${name.charAt(0).toUpperCase()}${name.slice(1)}` : name;
}

function plainText(unit: Unit, { server, init }: Agent, name: string, nested: Nested): string {
  const created = server?.getInitializer();
  if (!created) return "";
  const indent = unit.indentAt(server?.getStart() ?? 0);
  const parts = [`${commentsBefore(unit, server)}const ${name} = ${dedent(nested(rangeOf(created)), 1, indent)};`];
  const statements = statementsText(unit, init, nested);
  if (statements !== "") parts.push(dedent(statements, 2, indent));
  return parts.join(unit.newline + unit.newline);
}

/** The statements of a method with the comments before and between them. */
function statementsText(unit: Unit, method: { getBody?(): Node | undefined } | undefined, nested: Nested): string {
  const body = method?.getBody?.();
  if (!Node.isBlock(body)) return "";
  const text = nested({ start: body.getStart() + 1, end: body.getEnd() - 1 });
  void unit;
  return text
    .replace(/^\s*\n(?=[ \t]*\S)/, "")
    .trimEnd()
    .replace(/^[ \t]+/, "");
}

function commentsBefore(unit: Unit, node: Node | undefined): string {
  const comments = node?.getLeadingCommentRanges() ?? [];
  return comments.map((each) => each.getText() + unit.newline).join("");
}

/** The body of the function that creates the server: members of the class first, then the server, then `init()`. */
function factoryBody(unit: Unit, agent: Agent, nested: Nested): string {
  const { server, getter, init, others } = agent;
  const indent = unit.indentAt((server ?? getter ?? agent.declaration).getStart()) || "  ";
  const parts = others.map(
    (each) => indent + commentsBefore(unit, each) + memberDeclaration(unit, agent, each, nested),
  );
  const created = server?.getInitializer();
  if (created) parts.push(`${indent}${commentsBefore(unit, server)}const server = ${nested(rangeOf(created))};`);
  const statements = statementsText(unit, (getter ?? init) as MethodDeclaration | undefined, nested);
  if (statements !== "") parts.push(indent + dedent(statements, 1, indent));
  if (!getter) parts.push(`${indent}return server;`);
  return parts.join(unit.newline + unit.newline);
}

function memberDeclaration(unit: Unit, agent: Agent, member: Node, nested: Nested): string {
  const name = "getName" in member ? localName(unit, agent, (member as MethodDeclaration).getName()) : "";
  if (Node.isPropertyDeclaration(member)) {
    const initializer = member.getInitializer();
    const type = member.getTypeNode();
    return `${member.isReadonly() ? "const" : "let"} ${name}${type ? `: ${nested(rangeOf(type))}` : ""}${initializer ? ` = ${nested(rangeOf(initializer))}` : ""};`;
  }
  const start = member.getFirstChildByKind(SyntaxKind.OpenParenToken)?.getStart() ?? member.getStart();
  const generics = Node.isMethodDeclaration(member)
    ? member
        .getTypeParameters()
        .map((each) => each.getText())
        .join(", ")
    : "";
  const isAsync = Node.isMethodDeclaration(member) && member.isAsync();
  return `${isAsync ? "async " : ""}function ${name}${generics ? `<${generics}>` : ""}${nested({ start, end: member.getEnd() })}`;
}

/** Writes the app and the class of its objects after the server, and replaces the uses of the class in all files. */
function writeApp(
  migration: Migration,
  unit: Unit,
  { declaration, env, props }: Agent,
  { source, usesProps }: Names,
): void {
  const app = freeName(unit, ["app", "mcpApp"]);
  const className = declaration.getName() ?? "";
  const isExported = declaration.isExported();
  unit.need("mcp-edge/worker", "edge");
  unit.need("mcp-edge/worker/durable", "durable");
  const { newline } = unit;
  const use = ["durable()"];
  const provider = findProvider(migration, declaration);
  let before = "";
  if (usesProps) {
    const plugin = propsPlugin(migration, unit, {
      hasProvider: provider,
      env: env ?? "Env",
      ...(props ? { props } : {}),
    });
    before = plugin.before;
    use.unshift(plugin.use);
  }
  const text = `${before}${isExported ? "export " : ""}const ${app} = edge(${source}, { use: [${use.join(", ")}] });${newline}export class McpObject extends ${app}.McpObject {}`;
  unit.edits.insert(declaration.getEnd(), newline + newline + text);
  migration.agents.set(className, { app, className: "McpObject" });
  for (const [file, other] of migration.units) replaceUses(other, file === unit.file, declaration, app);
}

/** Whether the project has an `OAuthProvider` around the agent. */
function findProvider(migration: Migration, declaration: ClassDeclaration): boolean {
  const name = declaration.getName() ?? "";
  return [...migration.units.keys()].some(
    (file) => file.getText().includes(name) && /new OAuthProvider\b/.test(file.getText()),
  );
}

function replaceUses(unit: Unit, isOwn: boolean, declaration: ClassDeclaration, app: string): void {
  const name = declaration.getName() ?? "";
  let isImported = isOwn;
  for (const each of unit.file.getImportDeclarations()) {
    const specifier = each.getNamedImports().find((one) => one.getName() === name);
    if (!specifier || each.getModuleSpecifierSourceFile() !== declaration.getSourceFile()) continue;
    isImported = true;
    unit.replace(specifier, app);
  }
  for (const each of unit.file.getExportDeclarations()) {
    const specifier = each.getNamedExports().find((one) => one.getName() === name);
    if (!specifier) continue;
    const from = each.getModuleSpecifierSourceFile();
    if (from === declaration.getSourceFile() || (from === undefined && isImported))
      unit.replace(specifier, from ? "McpObject" : "McpObject");
    if (!from && !isOwn) addObjectImport(unit, name);
  }
  if (!isImported) return;
  for (const call of unit.file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    const callee = call.getExpression();
    if (!Node.isPropertyAccessExpression(callee) || callee.getExpression().getText() !== name) continue;
    if (/^(serve|serveSSE|mount)$/.test(callee.getName())) unit.replace(call, app);
  }
}

function addObjectImport(unit: Unit, name: string): void {
  const declaration = unit.file
    .getImportDeclarations()
    .find((each) => each.getNamedImports().some((one) => one.getName() === name));
  const last = declaration?.getNamedImports().at(-1);
  if (last) unit.edits.insert(last.getEnd(), ", McpObject");
}
