/** Loads the tools that run a Worker. They are not dependencies of the package, because only tests need them. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Loads miniflare: from the project, or from the dependencies of its wrangler. */
export function loadMiniflare(root: string): Promise<typeof import("miniflare")> {
  return load(root, "miniflare") as Promise<typeof import("miniflare")>;
}

/** Loads esbuild: from the project, or from the dependencies of its wrangler. */
export function loadEsbuild(root: string): Promise<typeof import("esbuild")> {
  return load(root, "esbuild") as Promise<typeof import("esbuild")>;
}

/** Loads wrangler, which reads configuration files. */
export function loadWrangler(root: string): Promise<typeof import("wrangler")> {
  return load(root, "wrangler") as Promise<typeof import("wrangler")>;
}

/**
 * The oldest supported versions. Wrangler depends on the other two packages, and pins the version of miniflare. `peerDependencies` does
 * not list miniflare, because all its versions are pre-releases, which no range matches.
 */
const OLDEST: Readonly<Record<string, string>> = {
  wrangler: "4.155.0",
  miniflare: "5.20261023.2",
  esbuild: "0.25.0",
};

/** Loads a package. @throws {Error} if no version is installed that is new enough. The message says what to install. */
export async function load(root: string, name: string): Promise<unknown> {
  const found = candidates(root, name).map((path) => ({ path, version: readVersion(path, name) }));
  const usable = found.find(({ version }) => !isOlder(version, OLDEST[name] ?? ""));
  if (!usable) throw new Error(whatToInstall(name, new Set(found.map(({ version }) => version))));
  const loaded = await import(pathToFileURL(usable.path).href);
  // Node may detect only some of the exported names of a CommonJS module.
  return { ...loaded.default, ...loaded };
}

function whatToInstall(name: string, found: ReadonlySet<string>): string {
  const there = found.size > 0 ? `found ${[...found].join(" and ")}` : "found none";
  const how = `npm install --save-dev wrangler@^${OLDEST.wrangler}`;
  const text = `mcp-edge/testing requires the package "${name}" in version ${OLDEST[name]} or newer, but ${there}. Run: ${how}`;
  if (Number.parseInt(process.versions.node, 10) >= 22) return text;
  return `${text} (npm warns that it requires Node 22, but mcp-edge/testing also works on Node ${process.versions.node})`;
}

/**
 * Returns the possible locations of a package: in the project under test, then beside this file, because mcp-edge may be linked from
 * another folder. Package managers that do not hoist dependencies install it beside wrangler.
 */
function candidates(root: string, name: string): string[] {
  const paths = [join(root, "package.json"), import.meta.filename].flatMap((from) => {
    const there = createRequire(from);
    const wrangler = name === "wrangler" ? undefined : find(there, "wrangler/package.json");
    return [find(there, name), wrangler && find(createRequire(wrangler), name)];
  });
  return paths.filter((path) => path !== undefined);
}

function find(from: NodeJS.Require, name: string): string | undefined {
  try {
    return from.resolve(name);
  } catch {
    return undefined;
  }
}

/** Returns the version of the package to which a file belongs. */
function readVersion(path: string, name: string): string {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, "package.json");
    const found = existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string });
    if (found && found.name === name) return found.version ?? "0.0.0";
  }
  return "0.0.0";
}

/** Compares the three numbers of two versions. A suffix such as "-beta" is ignored. */
function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((each) => each.split(/[.-]/).slice(0, 3).map(Number));
  const at = a?.findIndex((number, place) => number !== b?.[place]) ?? -1;
  return at >= 0 && (a?.[at] ?? 0) < (b?.[at] ?? 0);
}
