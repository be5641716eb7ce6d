/**
 * Defines which rooms of src/ may import which others, and reads the imports of a file. Imports only point downwards.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, posix } from "node:path";

/** A room: a folder of src/, or a folder inside one that other files may not import. */
export interface Room {
  /** Its contents, for docs/architecture.md. */
  readonly holds: string;
  /** The other rooms that it may import. */
  readonly rooms: readonly string[];
  /** The packages and built-in modules that it may import. A name that ends in `*` stands for all that begin with it. */
  readonly packages: readonly string[];
}

/** The rooms of src/, lowest first. */
export const ROOMS: Readonly<Record<string, Room>> = {
  core: {
    holds: "the protocol: versions, dispatch, definitions, questions, replay, tasks",
    rooms: [],
    packages: [],
  },
  schema: { holds: "raw JSON Schema as a tool schema", rooms: ["core"], packages: ["@cfworker/json-schema"] },
  look: {
    holds: "the look of all pages: brand, style, HTML; and the response that carries a page",
    rooms: ["core"],
    packages: [],
  },
  http: {
    holds: "requests to responses: classification, refusals, Server-Sent Events, the page for browsers",
    rooms: ["look", "core"],
    packages: [],
  },
  safe: {
    holds:
      "helpers for handlers: paths, requests, SQL, texts, media types, caches; which addresses are public is decided in `core/basics/addresses.ts`",
    rooms: ["core"],
    packages: [],
  },
  files: {
    holds: "files as arguments and results of tools: schemas, names, media types, the store that handlers use",
    rooms: ["safe", "core"],
    packages: [],
  },
  client: {
    holds:
      "the client: links to servers, era detection, questions, recovery, sign-in. Of core, only `basics` and `protocol`; `schema` and the last two packages only in `validation` and `oauth`",
    rooms: ["schema", "core"],
    packages: ["eventsource-parser", "@cfworker/json-schema", "oauth4webapi"],
  },
  lock: {
    holds: "contracts of servers: lock files, their comparison, and the extension that holds a server to one",
    rooms: ["client", "core"],
    packages: [],
  },
  skills: {
    holds: "skills that a server offers; it shares the rules for their URIs with `client/skills`",
    rooms: ["client", "core"],
    packages: [],
  },
  worker: {
    holds: "`edge()`: the Hono app, the Durable Object class and its roles, plugins",
    rooms: ["http", "look", "files", "core"],
    packages: ["cloudflare:*", "hono", "hono/*"],
  },
  telemetry: {
    holds:
      "spans and metrics of servers and clients, by OpenTelemetry's conventions for MCP; it imports neither OpenTelemetry nor the tracing of Workers, but receives them",
    rooms: ["worker", "client", "http", "core"],
    packages: [],
  },
  "authorization-server": {
    holds: "the authorization server, which is also a client of identity providers",
    rooms: ["worker", "client", "safe", "http", "look", "core"],
    packages: ["cloudflare:*", "hono", "hono/*", "oauth4webapi"],
  },
  "authorization-server/dev": {
    holds: "an identity provider for local development; no other file may import it, so no deployment contains it",
    rooms: ["authorization-server", "http", "look", "core"],
    packages: [],
  },
  recorder: {
    holds:
      "what `mcp-edge dev` records: entries from the wire and from workerd's tail, redaction, findings, recordings. Of core, only `basics` and `protocol`",
    rooms: ["core"],
    packages: [],
  },
  "page-app": {
    holds: "the page of `mcp-edge dev`, an application for browsers; `npm run build` bundles it into `dist/page-app`",
    rooms: ["client", "recorder", "look", "core"],
    packages: ["preact", "preact/*", "@preact/signals"],
  },
  "recorder/worker": {
    holds: "`recorder()`: a Worker that records another one in production, and its object",
    rooms: ["recorder", "schema", "core"],
    packages: ["cloudflare:*"],
  },
  node: {
    holds:
      "stdio, a server for Node, `dev` and `check-config`; commands, files and requests of handlers; files of tokens",
    rooms: ["core", "safe", "files", "client", "skills", "node/record"],
    packages: ["node:*", "jsonc-parser"],
  },
  "node/record": {
    holds: "the recorder of `mcp-edge dev` and `record`: the proxy, its routes, objects, faults",
    rooms: ["recorder", "core", "safe", "client", "node"],
    packages: ["node:*", "eventsource-parser"],
  },
  testing: {
    holds: "workerd in a test, cut connections, a client in memory",
    rooms: ["core", "http", "worker", "node", "client"],
    packages: ["cloudflare:workers", "node:*", "miniflare", "esbuild", "wrangler", "eventsource-parser"],
  },
  cli: {
    holds: "the command line",
    rooms: ["core", "http", "safe", "client", "lock", "node", "node/record", "skills", "testing"],
    packages: ["node:*", "commander", "@clack/prompts", "eventsource-parser", "jsonc-parser", "fflate"],
  },
  reference: {
    holds: "the server that `npm start` runs; it is not part of the package",
    rooms: ["core", "schema", "worker", "node"],
    packages: [],
  },
};

/**
 * The folders of a room with their contents, lowest first: each may import those of the lines above its own, types included.
 * Folders on one line may not import each other.
 */
export type Layers = readonly Readonly<Record<string, string>>[];

/** The rooms of src/core. `index.ts` is the entry and may import all of them. */
export const CORE_ROOMS: Layers = [
  { basics: "small functions that know nothing of the protocol: bytes, texts, time, addresses" },
  { protocol: "JSON-RPC messages, methods, the table of versions, errors, limits, content, schemas, URIs" },
  { seal: "sealing keys and AES-GCM" },
  { ask: "questions to the client and their answers" },
  { define: "`McpServer`, the registry behind it, tools, prompts, resources" },
  { run: "running a handler: the request context, rounds, journal, replay, steps, retries" },
  { serve: "dispatch of a request: methods, lists, results, hooks, subscriptions" },
  {
    connection: "one client on one connection (stdio, in memory)",
    tasks: "calls that run in the background; `legacy` is for those of 2025-11-25",
  },
];

export const CORE_ORDER: readonly (readonly string[])[] = CORE_ROOMS.map((line) => Object.keys(line));

/**
 * The rooms of src/client. `index.ts` is the entry and may import all of them, and so may `on-demand.ts`, which every room may
 * load with `import()`.
 */
export const CLIENT_ROOMS: Layers = [
  { basics: "the errors and events of the client, time limits, limited concurrency" },
  {
    transports:
      "links: Streamable HTTP, HTTP+SSE, and any `Transport`; streams and their resumption; the interface of sign-in",
  },
  { requests: "options of requests, results, lists, listed tools, and what a server must support" },
  { api: "`Client`, the options of `connect()` with the handlers of questions, and the interface of extensions" },
  { questions: "answers to questions of the server" },
  { connection: "`connect()` and one connection: era detection, sending, repetition and recovery, subscriptions" },
  {
    cache: "the extension that caches lists and resources",
    validation: "the extension that checks results with JSON Schema",
    tasks: "the extension for tasks",
    state: "the extension that reports what a client is doing",
    skills: "skills of a server, and the files that they consist of",
    oauth: "sign-in; a program that does not import it contains none of it",
    host: "several servers at once",
  },
];

export const CLIENT_ORDER: readonly (readonly string[])[] = CLIENT_ROOMS.map((line) => Object.keys(line));

/** A room whose folders have an order. */
interface OrderedRoom {
  readonly order: readonly (readonly string[])[];
  /** The constant that has the order, for messages. */
  readonly constant: string;
  /** The files that may import every folder. */
  readonly entries: readonly string[];
  /** The file that every folder may load with `import()`, but must not import in another way. */
  readonly onDemand?: string;
}

const ORDERED: Readonly<Record<string, OrderedRoom>> = {
  core: { order: CORE_ORDER, constant: "CORE_ROOMS", entries: ["index.ts"] },
  client: {
    order: CLIENT_ORDER,
    constant: "CLIENT_ROOMS",
    entries: ["index.ts", "on-demand.ts"],
    onDemand: "on-demand.ts",
  },
};

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s*["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)|(?:^|\n)\s*import\s*["']([^"']+)["']/g;

/** Returns the modules that a source text imports, including type imports. */
export function importsOf(source: string): string[] {
  return [...source.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

/**
 * Describes what is wrong with one import, or returns undefined. `file` is a path below src/, such as
 * `http/handler.ts`.
 */
export function findProblem(file: string, specifier: string): string | undefined {
  const room = roomOf(file);
  const rules = ROOMS[room];
  if (!rules) return `${file}: src/${room} is not a known room; add it to ROOMS in scripts/rooms.ts`;
  if (!specifier.startsWith(".")) {
    return rules.packages.some((allowed) => isMatch(specifier, allowed))
      ? undefined
      : `${file}: ${room} may not import "${specifier}"`;
  }
  const path = posix.join(dirname(file), specifier);
  const target = roomOf(path);
  const ordered = ORDERED[room];
  if (ordered && target === room) return findProblemInside(ordered, file, path);
  if (target === room || rules.rooms.includes(target)) return undefined;
  return `${file}: ${room} -> ${target} ("${specifier}") is not an allowed import`;
}

/** Returns the room of a path below src/: the first two folders if they are a room inside a room, otherwise the first one. */
function roomOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  const inner = `${first}/${second}`;
  return inner in ROOMS ? inner : first;
}

function isMatch(specifier: string, allowed: string): boolean {
  return allowed.endsWith("*") ? specifier.startsWith(allowed.slice(0, -1)) : specifier === allowed;
}

/** Describes what is wrong with an import between two files of a room whose folders have an order, or returns undefined. */
function findProblemInside(
  { order, constant, entries, onDemand }: OrderedRoom,
  file: string,
  imported: string,
): string | undefined {
  const [room = "", from = ""] = file.split("/");
  const [, to = ""] = imported.split("/");
  if (entries.includes(from) || from === to || to === onDemand) return undefined;
  const [line, importedLine] = [from, to].map((folder) => order.findIndex((folders) => folders.includes(folder)));
  if (line === -1) return `${file}: src/${room}/${from} is not a known room; add it to ${constant} in scripts/rooms.ts`;
  if (importedLine !== -1 && (importedLine as number) < (line as number)) return undefined;
  return `${file}: ${room}/${from} -> ${room}/${to} is not an allowed import; the order is ${order.join(" < ")}`;
}

/**
 * The statements that a module may run when it is loaded, by file: those of programs, and one that installs code which
 * docs/decisions/006-questions-and-replay.md explains. Loading any other module must not change anything outside of it.
 */
const EFFECTS: Readonly<Record<string, readonly string[]>> = {
  "cli/main.ts": ["watchOutput();", 'process.stdout.write("", () => process.exit(code));'],
  "core/run/input-required.ts": ["installRounds(createRounds());"],
  "node/node-20.ts": [
    "Promise.withResolvers ??= function withResolvers<T>(this: PromiseConstructor): PromiseWithResolvers<T> {",
  ],
  "reference/stdio.ts": ["await serveStdio(createReferenceServer());"],
};

/** Matches a comment, or a template literal. */
const COMMENT_OR_TEMPLATE = /\/\*[\s\S]*?\*\/|`(?:[^`\\]|\\[\s\S])*`/g;
/** Matches a line that begins a statement at the top level of a module, other than a declaration, an import or an export. */
const STATEMENT =
  /^(?!(?:import|export|const|let|type|interface|function|async|class|abstract|declare|enum)\b)[\w$([].*$/gm;

/** Describes the statements at the top level of a module that may change something outside of it. The page's application is a program. */
export function findEffects(file: string, source: string): string[] {
  if (file.startsWith("page-app/")) return [];
  const statements = source.replaceAll(COMMENT_OR_TEMPLATE, "``").match(STATEMENT) ?? [];
  const refused = statements.filter((statement) => !EFFECTS[file]?.includes(statement));
  return refused.map((statement) => {
    return `${file}: "${statement}" runs when the module is loaded; move it into a function, or add it to EFFECTS in scripts/rooms.ts`;
  });
}

/** Matches the files that `mcp-edge add` copies into projects. */
const FILES_OF_ADD = /^cli.commands.add.parts./;

/** A folder or file that is larger cannot be read in one sitting. */
const FILES_MAX = 25;
const LINES_MAX = 400;

/**
 * Returns all violations in a folder like src/: forbidden imports, side effects of modules, import cycles, and folders or files that are
 * too large.
 */
export function findProblems(src: string): string[] {
  const names = readdirSync(src, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/"));
  const files = names.filter((file) => /\.tsx?$/.test(file) && !FILES_OF_ADD.test(file));
  const texts = new Map(files.map((file) => [file, readFileSync(`${src}/${file}`, "utf8")]));
  const imports = [...texts].flatMap(([file, text]) => [
    ...importsOf(text).flatMap((specifier) => findProblem(file, specifier) ?? []),
    ...findEagerImports(file, text),
  ]);
  const effects = [...texts].flatMap(([file, text]) => findEffects(file, text));
  return [...imports, ...effects, ...findCircles(texts), ...findCrowds(texts)];
}

/** Returns the problems of a file that imports the on-demand module of its room statically, so that it would be loaded at once. */
function findEagerImports(file: string, text: string): string[] {
  const room = roomOf(file);
  const onDemand = ORDERED[room]?.onDemand;
  const eager = eagerImportsOf(text).filter((each) => posix.join(dirname(file), each) === `${room}/${onDemand}`);
  return eager.map((specifier) => `${file}: load "${specifier}" with import()`);
}

/** Returns the modules that a source text imports statically, without those that it loads with `import()`. */
function eagerImportsOf(source: string): string[] {
  return importsOf(source.replaceAll(/\bimport\(/g, "("));
}

/** Returns the import cycles, including type imports. An `import()` may close a cycle. */
function findCircles(texts: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, above: readonly string[]): void => {
    if (above.includes(file)) {
      found.push(`${[...above.slice(above.indexOf(file)), file].join(" -> ")}: a circle of imports`);
      return;
    }
    if (done.has(file)) return;
    for (const specifier of eagerImportsOf(texts.get(file) ?? "").filter((each) => each.startsWith("."))) {
      visit(posix.join(dirname(file), specifier), [...above, file]);
    }
    done.add(file);
  };
  for (const file of texts.keys()) visit(file, []);
  return found;
}

function findCrowds(texts: ReadonlyMap<string, string>): string[] {
  const folders = Object.groupBy(texts.keys(), (file) => dirname(file));
  const crowded = Object.entries(folders).filter(([, files = []]) => files.length > FILES_MAX);
  const long = [...texts].filter(([, text]) => text.split("\n").length - 1 > LINES_MAX);
  return [
    ...crowded.map(([folder, files]) => `${folder}: has ${files?.length} files, of at most ${FILES_MAX}`),
    ...long.map(([file, text]) => `${file}: has ${text.split("\n").length - 1} lines, of at most ${LINES_MAX}`),
  ];
}
