/** Refuses an import arrow that the design does not allow. */
import { findProblems } from "./rooms.ts";
import { ROOT } from "./tools.ts";

const problems = findProblems(`${ROOT}src`);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
