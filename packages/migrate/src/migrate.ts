/**
 * Migrates a project: a function from the texts of its files to their new texts, which reads no file and runs no code.
 *
 * @module
 */
import { type CallExpression, Node, Project, ts } from "ts-morph";
import { migrateAgents, refuseAgents } from "./agent.ts";
import { type AddedOptions, migrateConstructor } from "./constructors.ts";
import { Migration } from "./context.ts";
import { migrateEvents } from "./events.ts";
import { migrateFetchHandlers } from "./fetch-handlers.ts";
import { writeParameters } from "./handlers.ts";
import { writeImports } from "./imports.ts";
import { migrateInputs } from "./inputs.ts";
import { migrateLowLevel } from "./low-level.ts";
import { migrateNodeHandlers } from "./node-handlers.ts";
import { DECLARATIONS, kitOf } from "./old-kits.ts";
import { migratePackageFile } from "./package-file.ts";
import { migrateAuthContext } from "./props.ts";
import { type MethodCall, migratePositional, migrateRegistered } from "./register.ts";
import { migrateResource } from "./resources.ts";
import { migrateHttpRoutes } from "./routes.ts";
import { migrateThrown } from "./thrown.ts";
import { migrateConnect } from "./transports.ts";
import { oldClass, type Todo, type Topic, Unit } from "./unit.ts";
import { migrateContext, migrateServerCall } from "./uses.ts";
import { migrateWrangler } from "./wrangler.ts";

/** A file before or after the migration. The path is relative to the folder of the project, with slashes. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** A file that changes. */
export interface Change {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** The outcome of a migration. */
export interface Outcome {
  readonly changes: readonly Change[];
  readonly todos: readonly Todo[];
  readonly topics: ReadonlySet<Topic>;
  /** Files that use an old kit and could not be parsed, or are CommonJS modules. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

/** Tests use the old kits as clients and with mocks, so they are left as they are. */
const TEST = /(^|\/)(__tests__|tests?)\/|\.(test|spec)\.[cm]?[jt]sx?$/;
const SOURCE = /\.[cm]?[jt]sx?$/;

/** Migrates the files of a project. `version` is the version of mcp-edge that the project will depend on. */
export function migrate(files: readonly TextFile[], version: string): Outcome {
  const migration = new Migration();
  const skipped = addUnits(migration, files);
  const all = [...migration.units.values()];
  const refused = new Set(all.filter((unit) => refuseAgents(migration, unit)));
  const units = all.filter((unit) => !refused.has(unit));
  const calls = units.map((unit) => [unit, findCalls(unit)] as const);
  for (const [unit, found] of calls) migrateDefinitions(migration, unit, found);
  for (const [unit, found] of calls) migrateLowLevel(migration, unit, found.filter(isHandlerCall));
  for (const unit of units) migrateAgents(migration, unit);
  for (const unit of units) migrateEvents(migration, unit);
  const created = migrateConstructors(migration, units);
  for (const [unit, found] of calls) migrateCalls(migration, unit, found);
  for (const unit of units) migrateAccesses(migration, unit);
  for (const unit of units) migrateAuthContext(migration, unit);
  for (const unit of units) migrateHttpRoutes(migration, unit);
  for (const unit of units) migrateFetchHandlers(migration, unit);
  for (const unit of units) migrateNodeHandlers(migration, unit);
  for (const unit of units) migrateInputs(unit);
  migrateThrown(migration);
  writeParameters(migration.plans);
  if (created > 0) migration.topics.add("errors").add("schemas");
  for (const unit of units) writeImports(unit);
  const changes = all.flatMap((unit): Change[] => {
    const after = unit.edits.size > 0 ? unit.edits.apply().text : unit.text;
    return after === unit.text
      ? []
      : [{ path: unit.path, before: bom(files, unit) + unit.text, after: bom(files, unit) + after }];
  });
  const todos = all.flatMap((unit) => {
    // A note in code that was removed later is not in the text.
    const after = changes.find(({ path }) => path === unit.path)?.after ?? unit.text;
    return unit.todos.filter(({ text }) => after.includes(text)).map(({ path, line, text }) => ({ path, line, text }));
  });
  const others = changes.length > 0 ? migrateOthers(migration, files, changes, version, todos) : [];
  return { changes: [...changes, ...others], todos, topics: migration.topics, skipped };
}

/** The parser drops the byte order mark, so it is added again. */
function bom(files: readonly TextFile[], unit: Unit): string {
  return files.find(({ path }) => path === unit.path)?.text.startsWith("\uFEFF") && !unit.text.startsWith("\uFEFF")
    ? "\uFEFF"
    : "";
}

function addUnits(migration: Migration, files: readonly TextFile[]): { path: string; reason: string }[] {
  const project = new Project({
    useInMemoryFileSystem: true,
    compilerOptions: {
      allowJs: true,
      jsx: ts.JsxEmit.Preserve,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      allowImportingTsExtensions: true,
      // The types of the platform are not needed, and take most of the time.
      lib: ["lib.es5.d.ts", "lib.es2015.promise.d.ts", "lib.es2015.collection.d.ts"],
      noEmit: true,
      target: ts.ScriptTarget.ESNext,
      strict: true,
      types: [],
    },
  });
  project.createSourceFile("/old-kits.d.ts", DECLARATIONS);
  const skipped: { path: string; reason: string }[] = [];
  for (const { path, text } of files) {
    if (!SOURCE.test(path) || path.endsWith(".d.ts")) continue;
    const unit = parse(project, migration, path, text);
    if (!unit) {
      skipped.push({ path, reason: "it is nested too deeply" });
      continue;
    }
    const { file } = unit;
    // The parser stores syntax errors in a member that its types do not declare.
    const { parseDiagnostics = [] } = file.compilerNode as { readonly parseDiagnostics?: readonly unknown[] };
    const isInvalid = parseDiagnostics.length > 0;
    if (TEST.test(path)) {
      if (unit.kits.size > 0) skipped.push({ path, reason: "it is a test" });
    } else if (isInvalid && unit.kits.size > 0) skipped.push({ path, reason: "it has syntax errors" });
    else if (unit.requires) skipped.push({ path, reason: "it is a CommonJS module: use import statements first" });
    else if (!isInvalid) migration.units.set(file, unit);
  }
  return skipped;
}

/** Parses a file; undefined if its nesting exceeds the stack of the parser. */
function parse(project: Project, migration: Migration, path: string, text: string): Unit | undefined {
  try {
    const file = project.createSourceFile(`/project/${path}`, text.replace(/^\uFEFF/, ""), { overwrite: true });
    return new Unit(file, path, migration.topics);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function findCalls(unit: Unit): CallExpression[] {
  return unit.file.getDescendants().filter((node) => Node.isCallExpression(node));
}

const isServerClass = (name: string | undefined) => name === "mcpServer" || name === "server";

function isHandlerCall(call: CallExpression): boolean {
  const callee = call.getExpression();
  if (!Node.isPropertyAccessExpression(callee) || !/^set(Request|Notification)Handler$/.test(callee.getName()))
    return false;
  return isServerClass(oldClass(callee.getExpression()));
}

function migrateDefinitions(migration: Migration, unit: Unit, calls: readonly CallExpression[]): void {
  for (const call of calls) {
    const callee = call.getExpression();
    if (!Node.isPropertyAccessExpression(callee) || oldClass(callee.getExpression()) !== "mcpServer") continue;
    migrateDefinition(migration, { unit, call, callee });
  }
}

function migrateDefinition(migration: Migration, found: MethodCall): void {
  switch (found.callee.getName()) {
    case "registerTool":
      migrateRegistered(migration, found, "tool");
      return;
    case "registerPrompt":
      migrateRegistered(migration, found, "prompt");
      return;
    case "tool":
      migratePositional(migration, found, "tool");
      return;
    case "prompt":
      migratePositional(migration, found, "prompt");
      return;
    case "registerResource":
    case "resource":
      migrateResource(migration, found);
      return;
  }
}

/** Migrates the creation of servers, with the options that other steps add. Returns their number. */
function migrateConstructors(migration: Migration, units: readonly Unit[]): number {
  let count = 0;
  const added: AddedOptions = new Map();
  for (const { created, option, handler } of migration.subscriptions) {
    const text = migration.unitOf(handler)?.text.slice(handler.getStart(), handler.getEnd()) ?? "";
    const typed = text.replace(/^(async )?\((\w+)\)/, "$1($2: { params: { uri: string } })");
    added.set(created, [
      ...(added.get(created) ?? []),
      `${option}: async (uri) => void (await (${typed})({ params: { uri } }))`,
    ]);
  }
  for (const unit of units) {
    for (const node of unit.file.getDescendants()) {
      if (!Node.isNewExpression(node) || !isServerClass(oldClass(node)) || !isOldConstructor(node)) continue;
      count += 1;
      const inAgent = node.getFirstAncestor(
        (each) => Node.isClassDeclaration(each) && migration.agents.has(each.getName() ?? ""),
      );
      if (!inAgent) migrateConstructor(migration, unit, node, added);
    }
  }
  return count;
}

function isOldConstructor(node: Node): boolean {
  return Node.isNewExpression(node) && node.getExpression().getType().getConstructSignatures().length > 0;
}

const DEFINES =
  /^(registerTool|registerPrompt|registerResource|tool|prompt|resource|set(Request|Notification)Handler)$/;

/** Migrates the other calls of methods of a server. */
function migrateCalls(migration: Migration, unit: Unit, calls: readonly CallExpression[]): void {
  for (const call of calls) {
    const callee = call.getExpression();
    if (!Node.isPropertyAccessExpression(callee)) continue;
    const owner = oldClass(callee.getExpression());
    if (!isServerClass(owner)) continue;
    const name = callee.getName();
    if (DEFINES.test(name)) continue;
    if (name === "connect" && migrateConnect(unit, call, callee.getExpression())) continue;
    // The routes of the transport are migrated as a whole.
    if (name === "connect" || name === "close") {
      if (name === "close")
        unit.commentOut(call, "A server has no connections of its own: serveStdio() and serveHttp() end them.");
      else unit.todo(call, "Serve the server with serveStdio() or edge().");
      continue;
    }
    if (!migrateServerCall(migration, unit, call, callee)) unit.commentOut(call, `${name}() has no counterpart here.`);
  }
}

/** Migrates the members of contexts. */
function migrateAccesses(migration: Migration, unit: Unit): void {
  for (const node of unit.file.getDescendants())
    if (Node.isPropertyAccessExpression(node)) migrateContext(migration, unit, node);
}

/** Migrates what is not source code. */
function migrateOthers(
  migration: Migration,
  files: readonly TextFile[],
  changes: readonly Change[],
  version: string,
  todos: Todo[],
): Change[] {
  const after = files.map((file) => changes.find(({ path }) => path === file.path)?.after ?? file.text);
  const modules = files.flatMap(({ path }, at) => (SOURCE.test(path) ? importsIn(after[at] ?? "") : []));
  const before = files.flatMap(({ path, text }) => (SOURCE.test(path) ? importsIn(text) : []));
  const isOld = new Set(before.filter((module) => kitOf(module) !== undefined));
  return files.flatMap((file): Change[] => {
    const name = file.path.split("/").at(-1) ?? "";
    if (
      file.path.split("/").length > 1 &&
      !changes.some(({ path }) => path.startsWith(file.path.slice(0, -name.length)))
    )
      return [];
    let text = file.text;
    if (name === "package.json") text = migratePackageFile(file.text, { modules, old: isOld, version });
    if (/^wrangler\.(jsonc?|toml)$/.test(name)) text = migrateWrangler(file, migration, todos);
    return text === file.text ? [] : [{ path: file.path, before: file.text, after: text }];
  });
}

function importsIn(text: string): string[] {
  return [...text.matchAll(/(?:from|import|require\()\s*\(?["']([^"'\n]+)["']/g)].map(([, module = ""]) => module);
}
