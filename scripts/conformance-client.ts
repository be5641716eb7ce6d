/**
 * Runs the client scenarios of the official conformance suite on Node and in workerd, and prints a table. Exits with 1
 * unless every scenario is clean.
 */
import {
  type ClientScenario,
  isCleanRun,
  missingClientScenarios,
  RUNTIMES,
  runClientSuite,
} from "./official-client-suite.ts";

for (const runtime of RUNTIMES) {
  const scenarios = await runClientSuite(runtime);
  console.log(`\nthe client on ${runtime}: success/failure/warning`);
  for (const scenario of scenarios) print(scenario);
  console.log(`  ${scenarios.filter(isCleanRun).length} of ${scenarios.length} scenarios are clean`);
  if (!scenarios.every(isCleanRun)) process.exitCode = 1;
}

const missing = await missingClientScenarios();
if (missing.length > 0) console.log("\nnot run:");
for (const { version, name } of missing) console.log(`  ${version.padEnd(10)} ${name}`);

function print(scenario: ClientScenario): void {
  const { version, name, checks, end, output } = scenario;
  const isClean = isCleanRun(scenario);
  const counts = (["SUCCESS", "FAILURE", "WARNING"] as const).map((status) => {
    return checks.filter((check) => check.status === status).length;
  });
  console.log(`  ${(isClean ? "clean" : "NOT CLEAN").padEnd(9)} ${version} ${name.padEnd(40)} ${counts.join("/")}`);
  if (isClean) return;
  console.log(`            the client ${end ?? "was cut off"}: ${output.slice(-500)}`);
  for (const { id, status, errorMessage } of checks) {
    if (status === "FAILURE" || status === "WARNING") console.log(`            ${status} ${id}: ${errorMessage ?? ""}`);
  }
}
