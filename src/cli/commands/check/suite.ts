/**
 * Runs scenarios of the official conformance suite against a server. The suite also compares every message on the wire with
 * the JSON Schemas of its version.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CliError, Exit } from "../../exit.ts";
import { reasonNotToRun } from "./applicable.ts";
import type { CheckRow } from "./rows.ts";

const PACKAGE = "@modelcontextprotocol/conformance";
/** The version that npm fetches: the one with which mcp-edge itself is tested. */
const VERSION = "0.2.0-alpha.12";
/** The oldest major version of Node on which the suite runs. */
const SUITE_NODE_MIN = 22;
/** How many scenarios run at the same time. */
const AT_ONCE = 3;

/** How the suite is started: a program and its first arguments. */
export interface Suite {
  readonly program: string;
  readonly args: readonly string[];
}

/** The scenarios of the suite, with the versions in which they apply. */
export type Scenarios = ReadonlyMap<string, readonly string[]>;

/** Returns the suite that is installed in this project, or beside mcp-edge. */
export function installedSuite(): Suite | undefined {
  for (const from of [join(process.cwd(), "package.json"), import.meta.filename]) {
    try {
      const manifest = createRequire(from).resolve(`${PACKAGE}/package.json`);
      const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: Record<string, string> };
      return { program: process.execPath, args: [join(dirname(manifest), bin.conformance ?? "")] };
    } catch {
      // It is not installed there.
    }
  }
  return undefined;
}

/** Returns the suite as npm fetches it, and keeps it in its cache. */
export function fetchedSuite(): Suite {
  return { program: "npm", args: ["exec", "--yes", `--package=${PACKAGE}@${VERSION}`, "--", "conformance"] };
}

/** The error if the suite is missing, which says what to do. */
export const SUITE_MISSING = `The official conformance suite is not installed. Add --fetch to let npm fetch it, write npm install --save-dev ${PACKAGE}@${VERSION}, or add --no-suite to do without it.`;

/** @throws {CliError} if this Node is too old for the suite. */
export function requireNode(): void {
  if (Number.parseInt(process.versions.node, 10) >= SUITE_NODE_MIN) return;
  throw new CliError(
    Exit.usage,
    `The official conformance suite needs Node ${SUITE_NODE_MIN} or newer, and this is ${process.versions.node}. Add --no-suite to do without it.`,
  );
}

/** Lists the scenarios for servers. @throws {CliError} if the suite cannot run. */
export async function listScenarios(suite: Suite, signal: AbortSignal): Promise<Scenarios> {
  const output = await runSuite(suite, ["list", "--server"], signal);
  const found = [...output.matchAll(/^ {2}- ([\w-]+) \[([^\]]*)\]$/gm)];
  if (found.length === 0) throw new CliError(Exit.serverError, `The official conformance suite cannot run:\n${output}`);
  return new Map(found.map(([, name = "", versions = ""]) => [name, versions.split(",")]));
}

/**
 * Runs the scenarios of one version that apply to the server.
 *
 * @param onStart Is called with the name of each scenario before it runs.
 */
export async function runScenarios(
  suite: Suite,
  scenarios: Scenarios,
  of: { readonly url: string; readonly version: string; readonly capabilities: ReadonlySet<string> },
  onStart: (name: string) => void,
  signal: AbortSignal,
): Promise<CheckRow[]> {
  const names = [...scenarios].filter(([, versions]) => versions.includes(of.version)).map(([name]) => name);
  const rows: CheckRow[] = [];
  const queue = [...names.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [index, name] = next;
      const reason = reasonNotToRun(name, of);
      const common = { version: of.version, name, source: "official" } as const;
      if (reason !== undefined) rows[index] = { ...common, status: "not-applicable", detail: reason };
      else {
        onStart(name);
        rows[index] = { ...common, ...(await runScenario(suite, name, of, signal)) };
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  // Some checks of the suite wait half a second for a message. On a busy machine a server may need longer, so a scenario that
  // failed runs once more, alone.
  for (const [index, row] of rows.entries()) {
    if (row.status !== "failed") continue;
    onStart(row.name);
    rows[index] = { ...row, ...(await runScenario(suite, row.name, of, signal)) };
  }
  return rows;
}

/** One check of a scenario, as the suite writes it to its result file. */
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

/** How the suite reports, as failures, that a server lacks the tools of its own test server. */
const NOT_TESTABLE = "Not testable:";

/**
 * The suite lets a tool of its own test server change the list of tools for this check. It does not notice that another server
 * has no such tool, and warns that there was no notification.
 */
const NEEDS_CHANGE = "sep-2575-server-sends-tools-list-changed-on-subscription";

function isTestable({ id, status, errorMessage = "" }: SuiteCheck): boolean {
  return !errorMessage.startsWith(NOT_TESTABLE) && (id !== NEEDS_CHANGE || status === "SUCCESS");
}

/** A scenario passes if a check succeeds and none fails. If the suite has skipped all checks, the scenario does not apply. */
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
  const rest = untested === 0 ? "" : `; ${untested} more need tools of the suite's own test server`;
  return { status: "passed", detail: `${successes.length} checks${rest}` };
}

/** Runs the suite to its end and returns what it wrote. Its exit code is not used, since the result files say more. */
function runSuite({ program, args }: Suite, more: readonly string[], signal: AbortSignal): Promise<string> {
  const child = spawn(program, [...args, ...more], {
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32" && program === "npm",
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
