/** Runs the official conformance suite, with every version that it has scenarios for, against the reference server on workerd. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Workerd } from "../test/harness/workerd.ts";
import { ROOT } from "./tools.ts";

/** The requirement sets, each with the further scenarios that must also be clean. */
export const REQUIREMENTS = {
  // Versions without a requirement set: all active scenarios must be clean.
  "2025-03-26": [],
  "2025-06-18": [],
  "2025-11-25": ["json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"],
  "2026-07-28": [
    "json-schema-2020-12",
    "http-header-validation",
    "http-custom-header-server-validation",
    // The tenth task scenario, tasks-status-notifications, skips its only check; 10-9-tasks.test.ts covers it.
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-wire-fields",
  ],
} as const;

export type Requirements = keyof typeof REQUIREMENTS;

export interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

export interface Scenario {
  readonly name: string;
  /** Whether the suite lists the scenario as part of the requirement set. */
  readonly isRequired: boolean;
  /** Whether this project requires the scenario to be clean. */
  readonly isOurs: boolean;
  readonly checks: readonly Check[];
}

/**
 * True with a success and neither failure nor warning. The suite itself counts a scenario without any check as passed.
 */
export function isClean({ checks }: Scenario): boolean {
  const has = (status: Check["status"]) => checks.some((check) => check.status === status);
  return has("SUCCESS") && !has("FAILURE") && !has("WARNING");
}

/**
 * Starts the reference server, runs one requirement set after the other, and passes the scenarios of each to `read`.
 */
export async function runOfficialSuite(read: (requirements: Requirements, scenarios: readonly Scenario[]) => void) {
  const worker = await Workerd.start({
    entry: "src/reference/index.ts",
    objects: ["McpObject"],
  });
  try {
    // The suite requires a loopback host name, not an address.
    const url = `${worker.origin.replace("127.0.0.1", "localhost")}/mcp`;
    for (const requirements of Object.keys(REQUIREMENTS) as Requirements[]) {
      read(requirements, await runRequirements(url, requirements));
    }
  } finally {
    await worker.stop();
  }
}

/** Runs one requirement set against a server and reads the result files that the suite writes. */
export async function runRequirements(url: string, requirements: Requirements): Promise<Scenario[]> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-conformance-"));
  try {
    const hasSet = requirements >= "2025-11-25";
    const chosen = hasSet ? ["--requirements", requirements] : ["--suite", "active", "--spec-version", requirements];
    const args = ["server", "--url", url, ...chosen, "-o", folder];
    const output = await runSuite(args);
    // At the end the suite lists the scenarios that it ran beyond the requirements, one per line with the reason in
    // brackets.
    const extra = new Set(!hasSet ? [] : [...output.matchAll(/^ {2}\S ([a-z0-9-]+) \(/gm)].map((match) => match[1]));
    const beyond: readonly string[] = REQUIREMENTS[requirements];
    return readdirSync(folder).map((entry) => {
      const name = entry.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
      const checks = JSON.parse(readFileSync(join(folder, entry, "checks.json"), "utf8")) as Check[];
      const isRequired = !extra.has(name);
      return { name, isRequired, isOurs: isRequired || beyond.includes(name), checks };
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs one scenario of an extension, which belongs to no requirement set, and returns its checks. */
export async function runScenario(url: string, name: string): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-conformance-"));
  try {
    // Scenarios of extensions belong to no version, so the suite skips them unless it is forced.
    await runSuite(["server", "--url", url, "--scenario", name, "--force", "-o", folder]);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const found = files.filter((path) => path.endsWith("checks.json"));
    return found.flatMap((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Check[]);
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
    // The exit code only counts failures; the result files contain more.
    suite.on("close", () => resolve(output));
  });
}
