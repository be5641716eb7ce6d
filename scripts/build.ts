/** Compiles src/ to dist/, and adds the templates: the content of the published package. */
import { rmSync } from "node:fs";
import { packTemplates } from "./pack-templates.ts";
import { buildPageApp } from "./page-app.ts";
import { ROOT, runTool } from "./tools.ts";

rmSync(`${ROOT}dist`, { recursive: true, force: true });
process.exitCode = runTool("tsc", ["-p", "scripts/tsconfig.build.json"]);
// The packages of `mcp-edge migrate` and `mcp-edge add openapi`, which are published separately.
for (const name of ["migrate", "openapi"]) {
  rmSync(`${ROOT}packages/${name}/dist`, { recursive: true, force: true });
  process.exitCode ||= runTool("tsc", ["-p", `packages/${name}`]);
}
packTemplates();
await buildPageApp(`${ROOT}dist/page-app`);
