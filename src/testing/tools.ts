/** The tools that run a Worker. They are no dependencies of the package: who only deploys does not need them. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Loads miniflare: the project's own, or the one that its wrangler brings. */
export function loadMiniflare(root: string): Promise<typeof import("miniflare")> {
  return load(root, "miniflare") as Promise<typeof import("miniflare")>;
}

/** Loads esbuild: the project's own, or the one that its wrangler brings. */
export function loadEsbuild(root: string): Promise<typeof import("esbuild")> {
  return load(root, "esbuild") as Promise<typeof import("esbuild")>;
}

/** Loads wrangler, for its reading of configuration files. */
export function loadWrangler(root: string): Promise<typeof import("wrangler")> {
  return load(root, "wrangler") as Promise<typeof import("wrangler")>;
}

/**
 * The oldest versions that work. Wrangler brings the other two, miniflare in exactly one version. In `peerDependencies`
 * there is no miniflare: its versions are all pre-releases, which no range covers.
 */
const OLDEST: Readonly<Record<string, string>> = {
  wrangler: "4.155.0",
  miniflare: "5.20261023.2",
  esbuild: "0.25.0",
};

/** @throws {Error} saying what to install, when there is none that is new enough. */
export async function load(root: string, name: string): Promise<unknown> {
  const found = candidates(root, name).map((path) => ({ path, version: versionOf(path, name) }));
  const usable = found.find(({ version }) => !isOlder(version, OLDEST[name] ?? ""));
  if (!usable) throw new Error(whatToInstall(name, new Set(found.map(({ version }) => version))));
  const loaded = await import(pathToFileURL(usable.path).href);
  // Of a CommonJS module Node may find only some of the names.
  return { ...loaded.default, ...loaded };
}

function whatToInstall(name: string, found: ReadonlySet<string>): string {
  const there = found.size > 0 ? `found ${[...found].join(" and ")}` : "found none";
  const how = `npm install --save-dev wrangler@^${OLDEST.wrangler}`;
  const text = `mcp-edge/testing needs the package "${name}" in version ${OLDEST[name]} or newer, and ${there}. Write: ${how}`;
  if (Number.parseInt(process.versions.node, 10) >= 22) return text;
  return `${text} (npm warns that it needs Node 22; mcp-edge/testing works with it on Node ${process.versions.node} too)`;
}

/**
 * Where a package may be: in the project that is tested first, then where this file lies, since the package may be linked
 * from elsewhere. Package managers that do not hoist keep it beside wrangler.
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

/** The version in the package.json that a file of a package belongs to. */
function versionOf(path: string, name: string): string {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, "package.json");
    const found = existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string });
    if (found && found.name === name) return found.version ?? "0.0.0";
  }
  return "0.0.0";
}

/** Compares three numbers; what follows them, as in "-beta", does not count. */
function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((each) => each.split(/[.-]/).slice(0, 3).map(Number));
  const at = a?.findIndex((number, place) => number !== b?.[place]) ?? -1;
  return at >= 0 && (a?.[at] ?? 0) < (b?.[at] ?? 0);
}
