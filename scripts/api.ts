/**
 * Compares the public surface of the built package with docs/reference/api, and lists the names that have no doc comment, or
 * that are mentioned and not exported.
 * `--write` replaces the reports.
 */
import { differencesOf, hiddenOf, readReports, reportsOf, writeReports } from "./api/report.ts";
import { readSurface } from "./api/surface.ts";
import { coverageOf } from "./api/undocumented.ts";

const entries = readSurface();
const reports = reportsOf(entries);
if (process.argv.includes("--write")) writeReports(reports);
const { missing, names, members } = coverageOf(entries);
const hidden = hiddenOf(entries);
const problems = [...differencesOf(reports, readReports()), ...missing, ...hidden];
for (const problem of problems) console.error(problem);
console.log(
  `${entries.length} entries, ${names} public names, ${members} members, ${missing.length} without a doc comment, ${hidden.length} mentioned and not exported`,
);
process.exitCode = problems.length > 0 ? 1 : 0;
