/** Compiles src/ to dist/, and adds the templates: the content of the published package. */
import { rmSync } from "node:fs";
import { packTemplates } from "./pack-templates.ts";
import { buildPageApp } from "./page-app.ts";
import { ROOT, runTool } from "./tools.ts";

rmSync(`${ROOT}dist`, { recursive: true, force: true });
process.exitCode = runTool("tsc", ["-p", "scripts/tsconfig.build.json"]);
// The package of `mcp-edge migrate`, which is published separately.
rmSync(`${ROOT}packages/migrate/dist`, { recursive: true, force: true });
process.exitCode ||= runTool("tsc", ["-p", "packages/migrate"]);
packTemplates();
await buildPageApp(`${ROOT}dist/page-app`);
