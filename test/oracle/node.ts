import { existsSync } from "node:fs";
import { join } from "node:path";

const INSTALLED = join(import.meta.dirname, "../../node_modules/node/bin/node");

/** A Node that can run TypeScript: the project's own, since the one that runs vitest may be older. */
export const NODE: string = existsSync(INSTALLED) ? INSTALLED : process.execPath;

/**
 * The value of NODE_COMPILE_CACHE: a folder in which Node keeps what it compiles. The programs that tests start have it, because a start
 * takes 0.25 s with it and 0.6 s without it.
 */
export const COMPILE_CACHE: string = join(import.meta.dirname, "../../node_modules/.cache/node-compile");

/** The options of Node that turn on this cache in a program whose environment a test cannot set. */
export const CACHED: readonly string[] = ["--import", join(import.meta.dirname, "compile-cache.ts")];
