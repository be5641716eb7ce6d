/**
 * Defines which rooms of src/ may import which others, and reads the imports of a file. Imports only point downwards.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, posix } from "node:path";

/** Modules that the testing room may use: Node, the tools that run workerd, and what its own Worker needs. */
const TOOLS = [/^cloudflare:workers$/, /^node:/, /^miniflare$/, /^esbuild$/, /^wrangler$/, /^eventsource-parser$/];

/** Modules that the command line may use. */
const CLI_PACKAGES = [
  /^node:/,
  /^commander$/,
  /^@clack\/prompts$/,
  /^eventsource-parser$/,
  /^jsonc-parser$/,
  /^fflate$/,
];

/** For each room, the other rooms and the packages or built-in modules that it may import. */
export const ALLOWED: Readonly<
  Record<string, { readonly rooms: readonly string[]; readonly packages: readonly RegExp[] }>
> = {
  core: { rooms: [], packages: [] },
  schema: { rooms: ["core"], packages: [/^@cfworker\/json-schema$/] },
  http: { rooms: ["core"], packages: [] },
  safe: { rooms: ["core"], packages: [] },
  client: { rooms: ["core"], packages: [/^eventsource-parser$/, /^@cfworker\/json-schema$/, /^oauth4webapi$/] },
  // Serves what `client/skills` reads, and shares the rules for URIs with it.
  skills: { rooms: ["client", "core"], packages: [] },
  worker: {
    rooms: ["http", "core"],
    packages: [/^cloudflare:/, /^hono(\/|$)/],
  },
  // An authorization server is also a client, of identity providers.
  "authorization-server": {
    rooms: ["worker", "client", "safe", "http", "core"],
    packages: [/^cloudflare:/, /^hono(\/|$)/, /^oauth4webapi$/, /^@cloudflare\/workers-oauth-provider$/],
  },
  // A room inside a room, for local development: no other file may import it, so that no deployment contains it.
  "authorization-server/dev": { rooms: ["authorization-server", "http", "core"], packages: [] },
  node: { rooms: ["core", "safe", "client", "skills"], packages: [/^node:/, /^jsonc-parser$/] },
  cli: { rooms: ["core", "http", "safe", "client", "node", "skills", "testing"], packages: CLI_PACKAGES },
  testing: { rooms: ["core", "http", "worker", "node", "client"], packages: TOOLS },
  // Not part of the package: the Worker that the root wrangler.toml deploys.
  reference: { rooms: ["core", "schema", "worker", "node"], packages: [] },
};

/**
 * The rooms of src/core, lowest first: each may import those of the lines above its own, types included. Rooms on one
 * line may not import each other. `index.ts` is the entry and may import all of them.
 */
export const CORE_ORDER: readonly (readonly string[])[] = [
  ["basics"],
  ["protocol"],
  ["seal"],
  ["ask"],
  ["define"],
  ["run"],
  ["serve"],
  ["connection", "tasks"],
];

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
  const rules = ALLOWED[room];
  if (!rules) return `${file}: src/${room} is not a known room; add it to ALLOWED in scripts/rooms.ts`;
  if (!specifier.startsWith(".")) {
    return rules.packages.some((allowed) => allowed.test(specifier))
      ? undefined
      : `${file}: ${room} may not import "${specifier}"`;
  }
  const path = posix.join(dirname(file), specifier);
  const target = roomOf(path);
  if (room === "core" && target === "core") return findProblemInCore(file, path);
  if (target === room || rules.rooms.includes(target)) return undefined;
  return `${file}: ${room} -> ${target} ("${specifier}") is not an allowed import`;
}

/** Returns the room of a path below src/: the first two folders if they are a room inside a room, otherwise the first one. */
function roomOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  const inner = `${first}/${second}`;
  return inner in ALLOWED ? inner : first;
}

/** Describes what is wrong with an import between two files of src/core, or returns undefined. */
function findProblemInCore(file: string, imported: string): string | undefined {
  const [from, to] = [coreRoomOf(file), coreRoomOf(imported)];
  if (from === "index.ts" || from === to) return undefined;
  const [line, importedLine] = [lineOf(from), lineOf(to)];
  if (line === -1) return `${file}: src/core/${from} is not a known room; add it to CORE_ORDER in scripts/rooms.ts`;
  if (importedLine !== -1 && importedLine < line) return undefined;
  return `${file}: core/${from} -> core/${to} is not an allowed import; the order is ${CORE_ORDER.join(" < ")}`;
}

/** Returns the room of a path below src/, such as `run` for `core/run/journal.ts`, or the file name without one. */
function coreRoomOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function lineOf(room: string): number {
  return CORE_ORDER.findIndex((rooms) => rooms.includes(room));
}

/** Matches the files that `mcp-edge add` copies into projects. */
const FILES_OF_ADD = /^cli.commands.add.parts./;

/** A folder or file that is larger cannot be read in one sitting. */
const FILES_MAX = 25;
const LINES_MAX = 400;

/** Returns every forbidden import, circle of imports, crowded folder and long file below a folder with the layout of src/. */
export function findProblems(src: string): string[] {
  const names = readdirSync(src, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/"));
  const files = names.filter((file) => file.endsWith(".ts") && !FILES_OF_ADD.test(file));
  const texts = new Map(files.map((file) => [file, readFileSync(`${src}/${file}`, "utf8")]));
  const imports = [...texts].flatMap(([file, text]) =>
    importsOf(text).flatMap((specifier) => findProblem(file, specifier) ?? []),
  );
  return [...imports, ...findCircles(texts), ...findCrowds(texts)];
}

/** Returns the circles of files that import one another, types included. What is imported on demand, with `import()`, may close one. */
function findCircles(texts: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, above: readonly string[]): void => {
    if (above.includes(file)) {
      found.push(`${[...above.slice(above.indexOf(file)), file].join(" -> ")}: a circle of imports`);
      return;
    }
    if (done.has(file)) return;
    const text = (texts.get(file) ?? "").replaceAll(/\bimport\(/g, "(");
    for (const specifier of importsOf(text).filter((each) => each.startsWith("."))) {
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
