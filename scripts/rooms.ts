/** Which room of src/ may import which, and how a file's imports are read. DESIGN: arrows go down only. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, posix } from "node:path";

/** What the testing room may use: Node, what drives workerd, and what its own Worker needs in there. */
const TOOLS = [/^cloudflare:workers$/, /^node:/, /^miniflare$/, /^esbuild$/, /^wrangler$/, /^eventsource-parser$/];

/** Rooms a room may import besides itself, and packages or built-ins it may import. */
export const ALLOWED: Readonly<
  Record<string, { readonly rooms: readonly string[]; readonly packages: readonly RegExp[] }>
> = {
  core: { rooms: [], packages: [] },
  schema: { rooms: ["core"], packages: [/^@cfworker\/json-schema$/] },
  http: { rooms: ["core"], packages: [] },
  client: { rooms: ["core"], packages: [] },
  worker: { rooms: ["http", "core"], packages: [/^cloudflare:/, /^hono(\/|$)/] },
  node: { rooms: ["core"], packages: [/^node:/] },
  testing: { rooms: ["core", "http", "worker", "node", "client"], packages: TOOLS },
  // Not part of the package: the Worker of the root wrangler.toml.
  reference: { rooms: ["core", "schema", "worker", "node"], packages: [] },
};

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s*["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)|(?:^|\n)\s*import\s*["']([^"']+)["']/g;

/** The modules a source text imports, types included. */
export function importsOf(source: string): string[] {
  return [...source.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

/** What is wrong with one import, or undefined. `file` is a path below src/, such as `http/handler.ts`. */
export function findProblem(file: string, specifier: string): string | undefined {
  const room = file.split("/")[0] ?? "";
  const rules = ALLOWED[room];
  if (!rules) return `${file}: src/${room} is not a room of DESIGN section 3`;
  if (!specifier.startsWith(".")) {
    return rules.packages.some((allowed) => allowed.test(specifier))
      ? undefined
      : `${file}: ${room} may not import "${specifier}"`;
  }
  const target = posix.join(dirname(file), specifier).split("/")[0] ?? "";
  if (target === room || rules.rooms.includes(target)) return undefined;
  return `${file}: ${room} -> ${target} ("${specifier}") is not an allowed arrow`;
}

/** Every forbidden import below a folder laid out as src/ is. */
export function findProblems(src: string): string[] {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  return files.flatMap((file) => {
    const path = file.replaceAll("\\", "/");
    return importsOf(readFileSync(`${src}/${file}`, "utf8")).flatMap((specifier) => findProblem(path, specifier) ?? []);
  });
}
