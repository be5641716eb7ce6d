/** Reports code that works only on some operating systems, in what runs at users' machines. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findUnportable } from "./portability.ts";
import { repositoryFiles } from "./references.ts";
import { ROOT } from "./tools.ts";

const files = repositoryFiles().filter((file) =>
  /^(?:src\/(?:cli|node|testing|reference)|bin|create-mcp-edge)\/.*\.[tj]s$/.test(file),
);
const problems = files.flatMap((file) => findUnportable(file, readFileSync(join(ROOT, file), "utf8")));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
