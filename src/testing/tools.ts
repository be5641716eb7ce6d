/** The tools that run a Worker. They are no dependencies of the package: who only deploys does not need them. */
import { createRequire } from "node:module";
import { join } from "node:path";
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

/** @throws {Error} saying what to install, when there is none. */
export async function load(root: string, name: string): Promise<unknown> {
  // From the project that is tested, not from where this file lies: the package may be linked from elsewhere.
  const path = find(join(root, "package.json"), name) ?? find(import.meta.filename, name);
  if (path === undefined) {
    throw new Error(`mcp-edge/testing needs the package "${name}": npm install --save-dev wrangler miniflare esbuild`);
  }
  const loaded = await import(pathToFileURL(path).href);
  // Of a CommonJS module Node may find only some of the names.
  return { ...loaded.default, ...loaded };
}

function find(from: string, name: string): string | undefined {
  const there = createRequire(from);
  try {
    return there.resolve(name);
  } catch {
    // Package managers that do not hoist keep it beside wrangler.
    return name === "wrangler" ? undefined : findBesideWrangler(there, name);
  }
}

function findBesideWrangler(there: NodeJS.Require, name: string): string | undefined {
  try {
    return createRequire(there.resolve("wrangler/package.json")).resolve(name);
  } catch {
    return undefined;
  }
}
