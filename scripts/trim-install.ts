/**
 * Removes what the package `node` brings besides the program: 68 MB of C headers and manuals. Runs after `npm ci`.
 */
import { globSync, rmSync } from "node:fs";
import { ROOT } from "./tools.ts";

for (const folder of globSync("node_modules/node/node_modules/node-*/{include,share}", { cwd: ROOT })) {
  rmSync(ROOT + folder, { recursive: true, force: true });
}
