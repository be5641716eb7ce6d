/** Compiles src/ to dist/, and adds the templates: the content of the published package. */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { packTemplates } from "./pack-templates.ts";
import { ROOT, runTool } from "./tools.ts";
import { withoutFunctionNames } from "./unnamed-functions.ts";

/** The modules that Workers bundle. */
const BUNDLED = "dist/{authorization-server,client,core,http,safe,schema,skills,worker}/**/*.js";

rmSync(`${ROOT}dist`, { recursive: true, force: true });
process.exitCode = runTool("tsc", ["-p", "scripts/tsconfig.build.json"]);
for (const file of globSync(BUNDLED, { cwd: ROOT })) {
  writeFileSync(ROOT + file, withoutFunctionNames(readFileSync(ROOT + file, "utf8")));
}
packTemplates();
