/**
 * Runs scenarios of the official conformance suite against a server. The suite also validates every message on the wire with the
 * JSON Schema of its protocol version.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findProgram } from "../../../node/program.ts";
import { CliError, Exit } from "../../exit.ts";
import { reasonNotToRun } from "./applicable.ts";
import type { CheckRow } from "./rows.ts";

const PACKAGE = "@modelcontextprotocol/conformance";
/** The version to fetch with npm. mcp-edge itself is tested with it. */
const VERSION = "0.2.0-alpha.12";
/** The oldest major version of Node on which the suite runs. */
const SUITE_NODE_MIN = 22;
/** The number of scenarios that run at the same time. */
const AT_ONCE = 3;

/** The command that starts the suite: a program and its first arguments. */
export interface Suite {
  readonly program: string;
  readonly args: readonly string[];
}

/** The names of the suite's scenarios, with the protocol versions to which they apply. */
export type Scenarios = ReadonlyMap<string, readonly string[]>;

/** Returns the suite installed in this project or beside mcp-edge; undefined if there is none. */
export function installedSuite(): Suite | undefined {
  for (const from of [join(process.cwd(), "package.json"), import.meta.filename]) {
    try {
      const manifest = createRequire(from).resolve(`${PACKAGE}/package.json`);
      const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: Record<string, string> };
      return { program: process.execPath, args: [join(dirname(manifest), bin.conformance ?? "")] };
    } catch {
      // Not installed there.
    }
  }
  return undefined;
}

/** Returns the command with which npm fetches the suite into its cache and runs it. */
export function fetchedSuite(): Suite {
  return { program: "npm", args: ["exec", "--yes", `--package=${PACKAGE}@${VERSION}`, "--", "conformance"] };
}

/** The error message if the suite is not installed. */
export const SUITE_MISSING = `The official conformance suite is not installed. Add --fetch to let npm fetch it, run npm install --save-dev ${PACKAGE}@${VERSION}, or add --no-suite to skip it.`;

/** @throws {CliError} if this Node is too old for the suite. */
export function requireNode(): void {
  if (Number.parseInt(process.versions.node, 10) >= SUITE_NODE_MIN) return;
  throw new CliError(
    Exit.usage,
    `The official conformance suite requires Node ${SUITE_NODE_MIN} or newer, and this is ${process.versions.node}. Add --no-suite to skip it.`,
  );
}

/** Returns the suite's scenarios for servers. @throws {CliError} if the suite cannot be run. */
export async function listScenarios(suite: Suite, signal: AbortSignal): Promise<Scenarios> {
  const output = await runSuite(suite, ["list", "--server"], signal);
  const found = [...output.matchAll(/^ {2}- ([\w-]+) \[([^\]]*)\]$/gm)];
  if (found.length === 0) throw new CliError(Exit.serverError, `The official conformance suite cannot run:\n${output}`);
  return new Map(found.map(([, name = "", versions = ""]) => [name, versions.split(",")]));
}

/**
 * Runs the scenarios of one protocol version that apply to the server.
 *
 * @param onStart Called with the name of each scenario before it runs.
 */
export async function runScenarios(
  suite: Suite,
  scenarios: Scenarios,
  server: { readonly url: string; readonly version: string; readonly capabilities: ReadonlySet<string> },
  onStart: (name: string) => void,
  signal: AbortSignal,
): Promise<CheckRow[]> {
  const names = [...scenarios].filter(([, versions]) => versions.includes(server.version)).map(([name]) => name);
  const rows: CheckRow[] = [];
  const queue = [...names.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [index, name] = next;
      const reason = reasonNotToRun(name, server);
      const common = { version: server.version, name, source: "official" } as const;
      if (reason !== undefined) rows[index] = { ...common, status: "not-applicable", detail: reason };
      else {
        onStart(name);
        rows[index] = { ...common, ...(await runScenario(suite, name, server, signal)) };
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  // Some checks of the suite wait only half a second for a message, and a server on a busy machine may need longer. So a scenario
  // that failed is run once more, alone.
  for (const [index, row] of rows.entries()) {
    if (row.status !== "failed") continue;
    onStart(row.name);
    rows[index] = { ...row, ...(await runScenario(suite, row.name, server, signal)) };
  }
  return rows;
}

/** A check of a scenario, in the format of the suite's result file. */
interface SuiteCheck {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

async function runScenario(
  suite: Suite,
  name: string,
  { url, version }: { readonly url: string; readonly version: string },
  signal: AbortSignal,
): Promise<Pick<CheckRow, "status" | "detail">> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-check-"));
  try {
    const args = ["server", "--url", url, "--scenario", name, "--spec-version", version, "--output-dir", folder];
    const output = await runSuite(suite, args, signal);
    const file = join(folder, readdirSync(folder)[0] ?? "", "checks.json");
    if (!existsSync(file)) return { status: "failed", detail: `The suite wrote no result: ${output.slice(-500)}` };
    return judge(JSON.parse(readFileSync(file, "utf8")) as SuiteCheck[]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The prefix of failures that only mean that the server lacks the tools of the suite's own test server. */
const NOT_TESTABLE = "Not testable:";

/**
 * For this check, the suite calls a tool of its own test server that changes the list of tools. If the server has no such tool, the
 * suite only warns that there was no notification.
 */
const NEEDS_CHANGE = "sep-2575-server-sends-tools-list-changed-on-subscription";

function isTestable({ id, status, errorMessage = "" }: SuiteCheck): boolean {
  return !errorMessage.startsWith(NOT_TESTABLE) && (id !== NEEDS_CHANGE || status === "SUCCESS");
}

/** Combines the checks of a scenario. It passes if a check succeeded and none failed. If all were skipped, it does not apply. */
function judge(found: readonly SuiteCheck[]): Pick<CheckRow, "status" | "detail"> {
  const checks = found.filter(isTestable);
  const all = (status: SuiteCheck["status"]) => checks.filter((check) => check.status === status);
  const texts = (some: readonly SuiteCheck[]) =>
    some.map(({ id, errorMessage }) => (errorMessage ? `${id}: ${errorMessage}` : id)).join("; ");
  const [failures, warnings, successes] = [all("FAILURE"), all("WARNING"), all("SUCCESS")];
  if (failures.length > 0) return { status: "failed", detail: texts(failures) };
  if (warnings.length > 0) return { status: "warning", detail: texts(warnings) };
  if (successes.length === 0) return { status: "not-applicable", detail: "the suite found nothing to check" };
  const untested = found.length - checks.length;
  const rest = untested === 0 ? "" : `; ${untested} more require tools of the suite's own test server`;
  return { status: "passed", detail: `${successes.length} checks${rest}` };
}

/** Runs the suite and returns its output. Its exit code is ignored, because the result files are more precise. */
function runSuite({ program, args }: Suite, more: readonly string[], signal: AbortSignal): Promise<string> {
  const found = findProgram(program, [...args, ...more]);
  const child = spawn(found.command, found.args, {
    stdio: ["ignore", "pipe", "pipe"],
    windowsVerbatimArguments: found.windowsVerbatimArguments,
    signal,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      output += data;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(signal.aborted ? signal.reason : error));
    child.once("close", () => resolve(output));
  });
}
