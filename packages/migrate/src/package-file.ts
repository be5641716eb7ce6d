/**
 * The dependencies in `package.json`.
 *
 * @module
 */
import { kitOf } from "./old-kits.ts";

/** The imports of the project's code. */
export interface Imports {
  /** The modules that the code imports after the migration. */
  readonly modules: readonly string[];
  /** The modules of old kits that it imported before. */
  readonly old: ReadonlySet<string>;
  readonly version: string;
}

/** Packages whose server part this kit replaces. */
const REPLACED = [
  "@modelcontextprotocol/sdk",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/node",
  "@modelcontextprotocol/express",
  "@modelcontextprotocol/hono",
  "mcp-handler",
  "@vercel/mcp-adapter",
  "agents",
];

/** The versions of packages that the migrated code needs. */
const ZOD = "^4.6.7";
const HONO = "^4.13.19";

type Dependencies = Record<string, string>;

/** Replaces the dependencies. Returns the text unchanged if it is not an object. */
export function migratePackageFile(text: string, { modules, old, version }: Imports): string {
  const parsed = parse(text);
  if (!parsed) return text;
  const { dependencies, devDependencies } = parsed;
  if (dependencies !== undefined && !isObject(dependencies)) return text;
  const isUsed = (name: string) => modules.some((module) => module === name || module.startsWith(`${name}/`));
  const kept = Object.entries((dependencies ?? {}) as Dependencies).filter(
    ([name]) => !(REPLACED.includes(name) && !isUsed(name) && wasUsed(name, old)),
  );
  const next: Dependencies = Object.fromEntries(kept);
  if (isUsed("mcp-edge")) next["mcp-edge"] ??= `^${version}`;
  if (isUsed("hono") && !(devDependencies as Dependencies | undefined)?.hono) next.hono ??= HONO;
  // The kit asks a schema for its JSON Schema, which zod answers since 4.2.
  if (isUsed("zod") && isOlder(next.zod)) next.zod = ZOD;
  const sorted = Object.fromEntries(Object.entries(next).sort(([a], [b]) => (a < b ? -1 : 1)));
  if (JSON.stringify(sorted) === JSON.stringify(dependencies ?? {})) return text;
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  const written = JSON.stringify({ ...parsed, dependencies: sorted }, undefined, indent);
  const lines = text.includes("\r\n") ? written.replaceAll("\n", "\r\n") : written;
  return `${text.startsWith("\uFEFF") ? "\uFEFF" : ""}${lines}${/\r?\n$/.exec(text)?.[0] ?? ""}`;
}

/** Whether the package was used for a server. A dependency that the code never imports belongs to something else. */
function wasUsed(name: string, old: ReadonlySet<string>): boolean {
  if (name === "@modelcontextprotocol/sdk") return [...old].some((module) => kitOf(module) !== undefined);
  return [...old].some((module) => module === name || module.startsWith(`${name}/`));
}

function isOlder(range: string | undefined): boolean {
  if (range === undefined) return true;
  const [, major = "", minor] = /(\d+)(?:\.(\d+))?/.exec(range) ?? [];
  return Number(major) < 4 || (Number(major) === 4 && Number(minor ?? 2) < 2);
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    return isObject(value) ? value : undefined;
  } catch {
    // A file that is not JSON is left as it is.
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
