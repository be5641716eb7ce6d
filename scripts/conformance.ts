/**
 * Runs the official conformance suite against the reference server on workerd and prints a table. Exits with 1 unless
 * every scenario that must be clean is clean.
 */
import { isClean, type Requirements, runOfficialSuite, type Scenario } from "./official-suite.ts";

await runOfficialSuite(report);

function report(requirements: Requirements, scenarios: readonly Scenario[]): void {
  console.log(`\n${requirements}: success/failure/warning/skipped`);
  for (const scenario of scenarios.toSorted((a, b) => a.name.localeCompare(b.name))) print(scenario);
  const ours = scenarios.filter(({ isOurs }) => isOurs);
  const required = scenarios.filter(({ isRequired }) => isRequired);
  console.log(
    `  ${required.filter(isClean).length} of ${required.length} required and ` +
      `${ours.filter(isClean).length - required.filter(isClean).length} of ${ours.length - required.length} further scenarios are clean`,
  );
  if (required.length === 0 || !ours.every(isClean)) process.exitCode = 1;
}

function print(scenario: Scenario): void {
  const { name, isRequired, isOurs, checks } = scenario;
  const counts = (["SUCCESS", "FAILURE", "WARNING", "SKIPPED"] as const).map(
    (status) => checks.filter((check) => check.status === status).length,
  );
  const standing = isRequired ? "required" : isOurs ? "further" : "not yet";
  console.log(
    `  ${(isClean(scenario) ? "clean" : "NOT CLEAN").padEnd(9)} ${standing.padEnd(8)} ${name.padEnd(48)} ${counts.join("/")}`,
  );
  for (const { id, status, errorMessage } of isOurs ? checks : []) {
    if (status === "FAILURE" || status === "WARNING") console.log(`            ${status} ${id}: ${errorMessage ?? ""}`);
  }
}
