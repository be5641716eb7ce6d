/** Compiles src/ to dist/: the package as it is published. */
import { rmSync } from "node:fs";
import { ROOT, runTool } from "./tools.ts";

rmSync(`${ROOT}dist`, { recursive: true, force: true });
process.exitCode = runTool("tsc", ["-p", "scripts/tsconfig.build.json"]);
