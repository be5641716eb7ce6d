/**
 * Removes the C headers and manuals from the package `node`, 61 MB in all. Runs after `npm ci`.
 */
import { globSync, rmSync } from "node:fs";
import { ROOT } from "./tools.ts";

for (const folder of globSync("node_modules/node/node_modules/node-*/{include,share}", { cwd: ROOT })) {
  rmSync(ROOT + folder, { recursive: true, force: true });
}
