/** Reports references to documents and files that are not in the repository. */
import { findProblems } from "./references.ts";

const problems = findProblems();
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
