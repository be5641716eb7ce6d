import { existsSync } from "node:fs";
import { join } from "node:path";

const INSTALLED = join(import.meta.dirname, "../../node_modules/node/bin/node");

/** A Node that can run TypeScript: the project's own, since the one that runs vitest may be older. */
export const NODE: string = existsSync(INSTALLED) ? INSTALLED : process.execPath;
