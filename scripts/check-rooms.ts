/** Reports every import that violates the order of the rooms of src/, and what is stale in docs/architecture.md. */
import { readFileSync } from "node:fs";
import { findProblems } from "./rooms.ts";
import { ARCHITECTURE_FILE, findStale, sourcePaths } from "./rooms-table.ts";
import { ROOT } from "./tools.ts";

const problems = [...findProblems(`${ROOT}src`), ...findStale(readFileSync(ARCHITECTURE_FILE, "utf8"), sourcePaths())];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
