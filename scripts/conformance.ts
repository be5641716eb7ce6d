/**
 * Runs the official conformance suite, both requirement sets, against the reference server on workerd at one URL, and
 * prints a table. A scenario is clean when it has a success and neither failure nor warning; the suite itself counts a
 * scenario without any check as passed. Exits with 1 unless every required scenario is clean.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newKeys, Workerd } from "../test/harness/workerd.ts";
import { ROOT } from "./tools.ts";

const REQUIREMENTS = ["2025-11-25", "2026-07-28"] as const;

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

interface Scenario {
  readonly name: string;
  readonly isRequired: boolean;
  readonly checks: readonly Check[];
}

const worker = await Workerd.start({
  entry: "src/reference/index.ts",
  objects: { MCP_SESSION: "McpSession", MCP_HUB: "McpHub" },
  bindings: { MCP_KEYS: newKeys() },
});
try {
  // The suite wants a loopback name, not an address.
  const url = `${worker.origin.replace("127.0.0.1", "localhost")}/mcp`;
  for (const requirements of REQUIREMENTS) report(requirements, await run(url, requirements));
} finally {
  await worker.stop();
}

/** Runs one requirement set and reads what it wrote down. */
async function run(url: string, requirements: string): Promise<Scenario[]> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-conformance-"));
  try {
    const args = ["server", "--url", url, "--requirements", requirements, "-o", folder];
    const output = await runSuite(args);
    // The suite names what it ran beyond the requirements at the end, one a line with the reason in brackets.
    const extra = new Set([...output.matchAll(/^ {2}\S ([a-z0-9-]+) \(/gm)].map((match) => match[1]));
    return readdirSync(folder).map((entry) => {
      const name = entry.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
      const checks = JSON.parse(readFileSync(join(folder, entry, "checks.json"), "utf8")) as Check[];
      return { name, isRequired: !extra.has(name), checks };
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runSuite(args: readonly string[]): Promise<string> {
  const suite = spawn(process.execPath, [`${ROOT}node_modules/.bin/conformance`, ...args]);
  let output = "";
  suite.stdout.on("data", (data) => {
    output += data;
  });
  suite.stderr.pipe(process.stderr);
  return new Promise((resolve, reject) => {
    suite.on("error", reject);
    // Its exit code counts failures only; the checks it wrote down tell more.
    suite.on("close", () => resolve(output));
  });
}

function report(requirements: string, scenarios: readonly Scenario[]): void {
  const sorted = scenarios.toSorted((a, b) => a.name.localeCompare(b.name));
  console.log(`\n${requirements}`);
  for (const { name, isRequired, checks } of sorted) {
    const counts = ["SUCCESS", "FAILURE", "WARNING", "SKIPPED"].map(
      (status) => checks.filter((check) => check.status === status).length,
    );
    const verdict = isClean(checks) ? "clean" : "NOT CLEAN";
    console.log(
      `  ${verdict.padEnd(9)} ${isRequired ? "required" : "extra   "} ${name.padEnd(48)} ${counts.join("/")}`,
    );
    for (const { id, status, errorMessage } of checks) {
      if (status === "FAILURE" || status === "WARNING")
        console.log(`            ${status} ${id}: ${errorMessage ?? ""}`);
    }
  }
  const required = sorted.filter(({ isRequired }) => isRequired);
  const clean = required.filter(({ checks }) => isClean(checks));
  console.log(`  ${clean.length} of ${required.length} required scenarios are clean (success/failure/warning/skipped)`);
  if (required.length === 0 || clean.length < required.length) process.exitCode = 1;
}

function isClean(checks: readonly Check[]): boolean {
  const has = (status: Check["status"]) => checks.some((check) => check.status === status);
  return has("SUCCESS") && !has("FAILURE") && !has("WARNING");
}
