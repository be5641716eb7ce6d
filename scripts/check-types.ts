/** Type-checks everything, and each runtime-neutral room without the types of the runtimes it must not use. */
import { runTool } from "./tools.ts";

const PROGRAMS = [
  ["core: language globals only", "scripts/rooms/tsconfig.core.json"],
  ["http, client: web standards, neither Node nor Workers", "scripts/rooms/tsconfig.web.json"],
  ["schema: web standards", "scripts/rooms/tsconfig.schema.json"],
  ["pages of tests: the DOM", "scripts/rooms/tsconfig.pages.json"],
  ["page-app: the DOM", "scripts/rooms/tsconfig.page-app.json"],
  ["site: the types of VitePress, which need the DOM", "scripts/rooms/tsconfig.site.json"],
  ["everything", "tsconfig.json"],
] as const;

for (const [what, project] of PROGRAMS) {
  if (runTool("tsc", ["-p", project, "--noEmit"]) !== 0) {
    console.error(`type check failed: ${what}`);
    process.exitCode = 1;
  }
}
