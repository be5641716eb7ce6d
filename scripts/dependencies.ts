/** The packages that an installation of mcp-edge brings: why, how large, and under which licence. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./tools.ts";

/** Why the package has each of its dependencies. */
export const REASONS: Readonly<Record<string, string>> = {
  "@cfworker/json-schema":
    "checks values against JSON Schema without generating code, which Workers forbid; only `mcp-edge/json-schema` and `mcp-edge/client/validation` import it",
  "@clack/prompts": "questions of the command line",
  commander: "options and help of the command line",
  "eventsource-parser": "reads Server-Sent Events in the client, the command line and the tests",
  fflate: "writes `.mcpb` archives; only the command line imports it",
  hono: "routes of the app that `edge()` returns, and its middleware for users",
  "jsonc-parser": "edits configurations of hosts and of wrangler without losing their comments",
  oauth4webapi: "the OAuth exchanges of `mcp-edge/client/oauth` and `authorizationServer()`",
};

const START = "<!-- Written by `npm run docs:reference` from scripts/dependencies.ts. -->";
const END = "<!-- The end of what `npm run docs:reference` writes. -->";
/** The file with the table. */
export const FACTS_FILE: string = join(ROOT, "docs/facts.md");

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly hasInstallScript?: boolean;
}

/** A package of an installation. */
export interface Installed {
  readonly name: string;
  readonly licence: string;
  /** The size of its files, in KiB. */
  readonly kib: number;
  /** The dependency of mcp-edge that brings it; undefined for a dependency itself. */
  readonly broughtBy?: string | undefined;
  readonly hasInstallScript: boolean;
}

/** Returns what `npm install mcp-edge` brings, according to package.json and package-lock.json. */
export function installedPackages(): Installed[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const direct = Object.keys(packages[""]?.dependencies ?? {});
  const found = new Map<string, Installed>();
  const add = (name: string, broughtBy?: string): void => {
    if (found.has(name)) return;
    const entry = packages[`node_modules/${name}`];
    if (entry === undefined) throw new Error(`${name} is not in package-lock.json.`);
    const kib = Math.ceil(sizeOf(join(ROOT, "node_modules", name)) / 1024);
    const { license: licence = "unknown", hasInstallScript = false } = entry;
    found.set(name, { name, licence, kib, broughtBy, hasInstallScript });
    const others = Object.keys(entry.dependencies ?? {}).filter((next) => !direct.includes(next));
    for (const next of others) add(next, broughtBy ?? name);
  };
  for (const name of direct) add(name);
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files
    .filter((file) => !file.slice(folder.length).includes("node_modules"))
    .reduce((sum, file) => sum + statSync(file).size, 0);
}

/** Returns a document with the present table of packages between its two marks. */
export function withPackages(text: string): string {
  const [start, end] = [text.indexOf(START), text.indexOf(END)];
  if (start < 0 || end < start) throw new Error("docs/facts.md has no place for the table of packages.");
  return `${text.slice(0, start + START.length)}\n\n${packagesTable()}\n\n${text.slice(end)}`;
}

function packagesTable(): string {
  const packages = installedPackages();
  const rows = packages.map(({ name, licence, kib, broughtBy }) => {
    const reason = broughtBy === undefined ? REASONS[name] : `brought by \`${broughtBy}\``;
    return `| \`${name}\` | ${reason} | ${kib.toLocaleString("en")} KiB | ${licence} |`;
  });
  const all = packages.reduce((sum, { kib }) => sum + kib, 0);
  return [
    "| package | why | files | licence |",
    "| --- | --- | --- | --- |",
    ...rows,
    `| ${packages.length} packages | | ${all.toLocaleString("en")} KiB | |`,
  ].join("\n");
}
