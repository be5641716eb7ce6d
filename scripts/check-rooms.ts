/** Reports every import that violates the order of the rooms of src/. */
import { findProblems } from "./rooms.ts";
import { ROOT } from "./tools.ts";

const problems = findProblems(`${ROOT}src`);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
