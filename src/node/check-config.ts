/**
 * `mcp-edge check-config`: compares a project's wrangler configuration and main module with what `edge()` needs, and
 * prints the lines to paste.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { KEYS_VARIABLE } from "../core/seal/key-ring.ts";
import { cleanText } from "../safe/clean-text.ts";
import { readPlainFile } from "./plain-file.ts";

/** The members of a wrangler configuration that are checked. */
interface Config {
  readonly main?: string;
  readonly compatibility_date?: string;
  readonly compatibility_flags?: readonly string[];
  readonly migrations?: readonly Migration[];
  readonly exports?: Readonly<Record<string, Export>>;
  readonly workflows?: readonly { readonly class_name: string }[];
  readonly vars?: Readonly<Record<string, unknown>>;
}

interface Migration {
  readonly tag: string;
  readonly new_sqlite_classes?: readonly string[];
  /** Classes whose objects store key-value pairs, without SQLite. */
  readonly new_classes?: readonly string[];
  readonly renamed_classes?: readonly { readonly from: string; readonly to: string }[];
  readonly transferred_classes?: readonly { readonly to: string }[];
  readonly deleted_classes?: readonly string[];
}

/** An entry of `exports`. It describes a Durable Object class, a Worker entrypoint or a Workflow. */
interface Export {
  readonly type?: string;
  /** @default "created" */
  readonly state?: "created" | "deleted" | "renamed" | "transferred" | "expecting-transfer";
  readonly storage?: "sqlite" | "legacy-kv";
}

type Wrangler = {
  unstable_readConfig(args: { config: string; env: string | undefined }, options: { hideWarnings: boolean }): Config;
};

/** A problem, with the lines that solve it, if known. */
interface Missing {
  readonly code: string;
  readonly text: string;
  /** Where to write the lines, such as "Add to wrangler.json". Undefined if there are no lines. */
  readonly place?: string;
  readonly lines?: readonly string[];
  /** True if the server works without it. */
  readonly isOptional?: boolean;
}

/** The first compatibility date on which request signals need no flag. */
const SIGNAL_DATE = "2026-11-17";
const OBJECTS_DATE = "2024-04-03";
const FILES = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"];
/** The configuration of Cloudflare's command `cf`. It is a program, so this command cannot read it. */
const CF_FILE = "cloudflare.config.ts";
/** Matches imports of entry points whose plugins all need the exported class. */
const PLUGINS = /["']mcp-edge\/worker\/(durable|once|workflows)["']/;
/** Matches the call that creates the authorization server, which needs the class and sealing keys. */
const AUTHORIZATION_SERVER = /\bauthorizationServer\s*\(/;
const DEVELOPMENT_USERS = /["']mcp-edge\/authorization-server\/dev["']/;
/** Matches the names imported from the entry point of the plugins with objects. */
const DURABLE_IMPORT = /\bimport\s*\{([^}]*)\}\s*from\s*["']mcp-edge\/worker\/durable["']/g;
/** Match the plugins of that entry point that seal data but do not provide keys, and those that provide keys. */
const SEALING = /\b(sessions|replay)\b/;
const KEYS = /\b(durable|keys)\b/;
const CLASS = /export\s+class\s+(\w+)\s+extends\s+[\w.]+\.McpObject\b/g;
const DESTRUCTURED = /export\s+const\s*\{[^}]*\bMcpObject\b(?:\s*:\s*(\w+))?[^}]*\}/g;
/** Match literal lists of allowed origins, and their items. */
const ORIGINS = /\ballowedOrigins\s*:\s*\[([^\]]*)\]/g;
const STRING = /["']([^"']+)["']/g;
/** Match the start of each call of `edge()`, and arguments that cannot contain a part with objects. */
const CALL = /\bedge\s*(?:<[^()]*>)?\(/g;
const WITHOUT_PARTS = /^\s*[\w.]+\s*(?:,?\s*\)|,\s*\{(?!.*(?:\.\.\.|\b(?:durable|sessions|hub|once|tasks|keys)\b)))/s;
const WORKFLOW = /export\s+class\s+(\w+)\s+extends\s+[\w.]+\.McpTaskWorkflow\b/g;

/** The problems of a configuration; or why it cannot be checked. */
export type ConfigProblems =
  | { readonly file: string; readonly main: MainModule; readonly config: Config; readonly missing: readonly Missing[] }
  | { readonly failure: string };

/**
 * Checks the wrangler configuration in a folder.
 *
 * @param options `config`: the path of the configuration file, by default the one in the folder; `env`: the environment to check.
 */
export async function findConfigProblems(
  folder: string,
  options: { readonly config?: string | undefined; readonly env?: string | undefined },
): Promise<ConfigProblems> {
  const file = options.config ?? FILES.find((each) => existsSync(join(folder, each)));
  if (file === undefined && existsSync(join(folder, CF_FILE))) {
    return {
      failure: `${folder} is configured by ${CF_FILE}, which this command cannot read. Check by hand that it creates the class McpObject with SQLite storage, has a compatibility date of ${OBJECTS_DATE} or later, and the flag enable_request_signal before ${SIGNAL_DATE}.`,
    };
  }
  if (file === undefined) return { failure: `There is no ${FILES.join(", ")} in ${folder}.` };
  try {
    // Wrangler would read a pipe forever, and treat a missing file as an empty one.
    readPlainFile(resolve(folder, file));
    const wrangler = await loadWrangler(folder);
    const path = resolve(folder, file);
    const config = wrangler.unstable_readConfig({ config: path, env: options.env }, { hideWarnings: true });
    const main = readMain(folder, config);
    return { file, main, config, missing: [...findMissing(main, file, config)] };
  } catch (error) {
    return { failure: `${file} cannot be read: ${error instanceof Error ? error.message : error}` };
  }
}

/**
 * Checks the wrangler configuration in a folder, and prints what is missing.
 *
 * @param options The options of {@link findConfigProblems}.
 * @returns The exit code: 0 if nothing is missing, 1 if something is, 2 if the configuration cannot be read.
 */
export async function checkConfig(
  folder: string,
  options: { readonly config?: string | undefined; readonly env?: string | undefined },
): Promise<number> {
  const found = await findConfigProblems(folder, options);
  if ("failure" in found) return failed(found.failure);
  const { file: name, main, config, missing } = found;
  const isWhole = missing.every(({ isOptional }) => isOptional);
  for (const { code, text, place, lines = [] } of missing) {
    const where = place === undefined ? "" : `${place}:\n\n`;
    say(`[${code}] ${text}\n${where}${lines.map((line) => `  ${line}\n`).join("")}`);
  }
  // This does not affect the exit code, because the keys may be a secret, which the configuration does not contain.
  const imported = [...main.source.matchAll(DURABLE_IMPORT)].map(([, names]) => names).join();
  const isSealing = SEALING.test(imported) || AUTHORIZATION_SERVER.test(main.source);
  if (isSealing && !KEYS.test(imported) && config.vars?.[KEYS_VARIABLE] === undefined) {
    say(
      `[keys-missing] ${main.file} does not import a plugin that provides sealing keys. Add keys() to the option use of edge(), with keys from "mcp-edge/worker/durable"; or set the secret ${KEYS_VARIABLE} with: npx mcp-edge keys | npx wrangler secret put ${KEYS_VARIABLE}`,
    );
  } else if (missing.length === 0) say(`${name} has everything that mcp-edge needs.`);
  return isWhole ? 0 : 1;
}

/** Prints text with control characters removed, because the configuration may be untrusted. */
function say(text: string): void {
  console.log(cleanText(text));
}

function failed(message: string): number {
  console.error(`mcp-edge: ${cleanText(message)}`);
  return 2;
}

function findWrangler(folder: string): string {
  try {
    return createRequire(join(folder, "package.json")).resolve("wrangler");
  } catch {
    throw new Error("wrangler is not installed in this project. Run: npm install --save-dev wrangler");
  }
}

async function loadWrangler(folder: string): Promise<Wrangler> {
  const path = findWrangler(folder);
  const loaded = (await import(pathToFileURL(path).href)) as Wrangler & { default?: Wrangler };
  // Node may detect only some of the exported names of a CommonJS module.
  return { ...loaded.default, ...loaded };
}

/** The main module of the Worker. */
interface MainModule {
  /** The path relative to the folder; undefined if the configuration does not name a main module. */
  readonly file: string | undefined;
  /** The text; empty if the file does not exist. */
  readonly source: string;
}

function readMain(folder: string, { main }: Config): MainModule {
  if (main === undefined) return { file: undefined, source: "" };
  const path = resolve(folder, main);
  return { file: relative(folder, path), source: existsSync(path) ? readPlainFile(path).toString() : "" };
}

function* findMissing({ file: mainFile, source }: MainModule, name: string, config: Config): Generator<Missing> {
  const isJson = isJsonFile(name);
  const classes = [...source.matchAll(CLASS), ...source.matchAll(DESTRUCTURED)].map(([, own]) => own ?? "McpObject");
  const isAuthorizing = AUTHORIZATION_SERVER.test(source);
  if (classes.length === 0 && (isAuthorizing || PLUGINS.test(source)) && mainFile !== undefined) {
    classes.push("McpObject");
    const text = "The Worker does not export the class McpObject.";
    const lines = ["export class McpObject extends app.McpObject {}"];
    yield { code: "export-missing", text, place: `Add to ${mainFile}`, lines };
  }
  if (classes.length > 0 && isWithoutParts(source) && !isAuthorizing) {
    const text =
      'app.McpObject exists only if edge() has sessions or another part that needs objects. Otherwise the Worker fails with "Class extends value undefined".';
    const place = `Change the call in ${mainFile} to edge(server, { use: [durable()] }), or add durable() to its option use, with`;
    yield { code: "part-missing", text, place, lines: ['import { durable } from "mcp-edge/worker/durable";'] };
  }
  if (DEVELOPMENT_USERS.test(source)) {
    const text = `${mainFile} is the file that is deployed, and it imports mcp-edge/authorization-server/dev, which lets anyone sign in as any user. Import it only in another file, and pass that file to wrangler dev.`;
    yield { code: "development-users", text };
  }
  yield* findClasses(classes, mainFile, source, name, config);
  if (mainFile !== undefined) yield* findOrigins(mainFile, source);
  yield* findPlatform(name, config, classes.length > 0, isJson);
  const bound = new Set(config.workflows?.map(({ class_name }) => class_name));
  for (const [, own = ""] of source.matchAll(WORKFLOW)) if (!bound.has(own)) yield workflow(name, own, config, isJson);
}

/** Compares the classes that the Worker needs and exports with the classes that the configuration creates. */
function* findClasses(
  needed: readonly string[],
  mainFile: string | undefined,
  source: string,
  name: string,
  config: Config,
): Generator<Missing> {
  const created = listClasses(config);
  const isDeclarative = usesExports(config);
  for (const each of needed) {
    if (created.get(each) === "key-value") yield keyValueStorage(each, isDeclarative);
    const { state = "created" } = config.exports?.[each] ?? {};
    if (GONE.includes(state)) {
      const text = `The entry exports.${each} says that the class is ${state}, and ${mainFile} exports it. Remove the line with state, or export the class under another name and pass that name as the option className.`;
      yield { code: "class-gone", text };
    }
  }
  for (const each of created.keys()) {
    // Problems of needed classes were reported above.
    if (needed.includes(each) || isExported(source, each)) continue;
    const fix = isDeclarative
      ? 'Export the class, correct its name, or delete the entry. If the class was deployed, set state = "deleted" or "renamed" instead.'
      : "Export the class, correct its name in the migration, or delete that entry. If the class was deployed, add a migration with renamed_classes or deleted_classes instead.";
    const what = isDeclarative ? "The entry exports" : "A migration";
    yield {
      code: "export-missing",
      text: `${what} names the class ${each}, which ${mainFile} does not export. ${fix}`,
    };
  }
  const isGone = (each: string) => GONE.includes(config.exports?.[each]?.state ?? "");
  const missing = needed.filter((each) => !created.has(each) && !isGone(each));
  if (missing.length === 0) return;
  yield isDeclarative ? exportEntries(name, missing, config) : migration(name, missing, config);
}

/** The states of a class that no longer exists under this name. */
const GONE: readonly string[] = ["deleted", "renamed", "transferred"];

function keyValueStorage(name: string, isDeclarative: boolean): Missing {
  const [what, fix] = isDeclarative
    ? [`The entry exports.${name} has storage = "legacy-kv"`, 'write storage = "sqlite"']
    : [`A migration creates the class ${name} without SQLite`, "write new_sqlite_classes instead of new_classes"];
  const text = `${what}, but mcp-edge requires SQLite. If the class was never deployed, ${fix}. If it was, export the class under another name, and pass that name as the option className.`;
  return { code: "migration-wrong", text };
}

/** Whether classes are declared in `exports`. wrangler refuses a file that declares them in `migrations` as well. */
function usesExports({ migrations = [] }: Config): boolean {
  return migrations.length === 0;
}

function exportEntries(file: string, classes: readonly string[], { exports = {} }: Config): Missing {
  const text = `The configuration does not create ${classes.length > 1 ? "the classes" : "the class"} ${classes.join(", ")}.`;
  if (!isJsonFile(file)) {
    const lines = classes.flatMap((each) => [`[exports.${each}]`, 'type = "durable-object"', 'storage = "sqlite"']);
    return { code: "migration-missing", text, place: `Add at the end of ${file}`, lines };
  }
  const entries = classes.map((each) => `"${each}": { "type": "durable-object", "storage": "sqlite" }`).join(", ");
  return Object.keys(exports).length > 0
    ? { code: "migration-missing", text, place: `Add to "exports" in ${file}`, lines: [entries] }
    : { code: "migration-missing", text, place: `Add to ${file}`, lines: [`"exports": { ${entries} }`] };
}

function isJsonFile(file: string): boolean {
  return !file.endsWith(".toml");
}

function* findOrigins(file: string, source: string): Generator<Missing> {
  const listed = [...source.matchAll(ORIGINS)].flatMap(([, list = ""]) => [...list.matchAll(STRING)]);
  for (const [, origin = ""] of listed) {
    if (origin === "*" || origin.includes("://")) continue;
    const text = `The origin "${origin}" in allowedOrigins matches no web page, because it has no scheme.`;
    yield { code: "origin-invalid", text, place: `Write in ${file}`, lines: [`"https://${origin}"`] };
  }
}

/** Returns whether every call of `edge()` is known to have no part that needs objects. */
function isWithoutParts(source: string): boolean {
  const calls = [...source.matchAll(CALL)].map(({ 0: { length }, index }) => source.slice(index + length));
  return calls.length > 0 && calls.every((call) => WITHOUT_PARTS.test(call));
}

/** Returns whether a module exports a name, or might export it. */
function isExported(source: string, name: string): boolean {
  const escaped = name.replaceAll("$", "\\$");
  const declared = `(?:default\\s+)?(?:abstract\\s+)?(?:class|const|let|var)\\s+${escaped}\\b`;
  const listed = `(?:const\\s*)?\\{[^}]*\\b${escaped}\\b[^}]*\\}`;
  return source === "" || new RegExp(`export\\s*(?:\\*|${listed}|${declared})`).test(source);
}

type StorageKind = "sqlite" | "key-value" | "unknown";

/** Returns the classes that exist after all migrations, with their kind of storage. */
function listClasses({ migrations = [], exports = {} }: Config): Map<string, StorageKind> {
  const classes = new Map<string, StorageKind>();
  for (const [name, { type, state = "created", storage }] of Object.entries(exports)) {
    if (type !== "durable-object" || GONE.includes(state)) continue;
    classes.set(name, storage === "legacy-kv" ? "key-value" : "sqlite");
  }
  for (const each of migrations) {
    for (const added of each.new_sqlite_classes ?? []) classes.set(added, "sqlite");
    for (const added of each.new_classes ?? []) classes.set(added, "key-value");
    for (const { from, to } of each.renamed_classes ?? []) {
      classes.set(to, classes.get(from) ?? "unknown");
      classes.delete(from);
    }
    for (const { to } of each.transferred_classes ?? []) classes.set(to, "unknown");
    for (const deleted of each.deleted_classes ?? []) classes.delete(deleted);
  }
  return classes;
}

function migration(file: string, classes: readonly string[], { migrations = [] }: Config): Missing {
  let number = migrations.length + 1;
  while (migrations.some(({ tag }) => tag === `v${number}`)) number += 1;
  const names = classes.map((each) => `"${each}"`).join(", ");
  const text = `No migration creates ${classes.length > 1 ? "the classes" : "the class"} ${classes.join(", ")}.`;
  const added = isJsonFile(file)
    ? jsonEntry(file, "migrations", migrations, `{ "tag": "v${number}", "new_sqlite_classes": [${names}] }`)
    : {
        place: `Add at the end of ${file}`,
        lines: ["[[migrations]]", `tag = "v${number}"`, `new_sqlite_classes = [${names}]`],
      };
  return { code: "migration-missing", text, ...added };
}

/** Returns where to write an entry of a list in a JSON file, which may or may not have the list already. */
function jsonEntry(file: string, list: string, entries: readonly unknown[], entry: string) {
  return entries.length > 0
    ? { place: `Add to "${list}" in ${file}`, lines: [entry] }
    : { place: `Add to ${file}`, lines: [`"${list}": [${entry}]`] };
}

function* findPlatform(file: string, config: Config, needsObjects: boolean, isJson: boolean): Generator<Missing> {
  const { compatibility_date: date = "", compatibility_flags: flags = [] } = config;
  if (date === "" || (needsObjects && date < OBJECTS_DATE)) {
    const lines = [isJson ? '"compatibility_date": "2026-10-20"' : 'compatibility_date = "2026-10-20"'];
    const old = `The compatibility date is ${date}, but Durable Objects require ${OBJECTS_DATE} or later.`;
    yield date === ""
      ? { code: "date-missing", text: "There is no compatibility date.", place: top(file, isJson), lines }
      : { code: "date-too-old", text: old, place: `Change the line in ${file} to`, lines };
  }
  if (date < SIGNAL_DATE && !flags.includes("enable_request_signal")) {
    const all = [...flags, "enable_request_signal"].map((flag) => `"${flag}"`).join(", ");
    const line = isJson ? `"compatibility_flags": [${all}]` : `compatibility_flags = [${all}]`;
    const text =
      "Recommended: without the flag enable_request_signal, ctx.signal aborts with a delay after a client disconnects.";
    const place = flags.length > 0 ? `Change the line in ${file} to` : top(file, isJson);
    yield { code: "flag-missing", text, place, lines: [line], isOptional: true };
  }
}

/** Returns where to write a top-level value. At the end of a TOML file, it would belong to the last table. */
function top(file: string, isJson: boolean): string {
  return isJson ? `Add to ${file}` : `Add at the top of ${file}, before the first [table]`;
}

function workflow(file: string, className: string, { workflows = [] }: Config, isJson: boolean): Missing {
  const entry = `{ "name": "mcp-tasks", "binding": "MCP_TASK_WORKFLOW", "class_name": "${className}" }`;
  const lines = ["[[workflows]]", 'name = "mcp-tasks"', 'binding = "MCP_TASK_WORKFLOW"', `class_name = "${className}"`];
  const added = isJson ? jsonEntry(file, "workflows", workflows, entry) : { place: `Add at the end of ${file}`, lines };
  return { code: "binding-wrong", text: `No Workflow binding names the class ${className}.`, ...added };
}
