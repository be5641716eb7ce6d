/** Runs the client scenarios of the official conformance suite, one process for each. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Workerd } from "../test/harness/workerd.ts";
import type { Check } from "./official-suite.ts";
import { ROOT } from "./tools.ts";

/** The scenarios that must be clean, by the version that the suite speaks. */
export const CLIENT_SCENARIOS = {
  "2025-11-25": [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
  ],
  "2026-07-28": [
    "tools_call",
    "request-metadata",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "sep-2322-client-request-state",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
  ],
} as const;

export interface ClientScenario {
  readonly version: string;
  readonly name: string;
  /** The exit code of the suite, which includes that of the client. */
  readonly exitCode: number | null;
  readonly checks: readonly Check[];
  /** The output of suite and client. */
  readonly output: string;
}

/** True if the suite exits with 0, something succeeded, and there is neither a failure nor a warning. */
export function isCleanRun({ exitCode, checks }: ClientScenario): boolean {
  const has = (status: Check["status"]) => checks.some((check) => check.status === status);
  return exitCode === 0 && has("SUCCESS") && !has("FAILURE") && !has("WARNING");
}

/** The runtimes that the client is run on. */
export const RUNTIMES = ["Node", "workerd"] as const;
export type RuntimeName = (typeof RUNTIMES)[number];

/** Runs every scenario on one runtime, one after the other, because one of them measures time. */
export async function runClientSuite(runtime: RuntimeName): Promise<ClientScenario[]> {
  if (runtime === "Node") return runAll(undefined);
  const worker = await Workerd.start({ entry: "test/conformance/fixtures/client-worker.ts" });
  try {
    return await runAll(worker.origin);
  } finally {
    await worker.stop();
  }
}

async function runAll(worker: string | undefined): Promise<ClientScenario[]> {
  const done: ClientScenario[] = [];
  for (const [version, names] of Object.entries(CLIENT_SCENARIOS)) {
    for (const name of names) done.push(await run(version, name, worker));
  }
  return done;
}

/**
 * Runs one scenario. A name that the suite or the client does not know is not clean.
 *
 * @param worker The address of a Worker to run the client in. Undefined: it runs on Node.
 */
export async function run(version: string, name: string, worker?: string): Promise<ClientScenario> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-conformance-"));
  try {
    const command = `${process.execPath} ${ROOT}test/conformance/client-driver.ts`;
    const args = ["client", "--command", command, "--scenario", name, "--spec-version", version, "-o", folder];
    const { exitCode, output } = await runSuite(args, worker);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const [file] = files.filter((path) => path.endsWith("checks.json"));
    const checks = file === undefined ? [] : (JSON.parse(readFileSync(join(folder, file), "utf8")) as Check[]);
    return { version, name, exitCode, checks, output };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runSuite(
  args: readonly string[],
  worker: string | undefined,
): Promise<{ exitCode: number | null; output: string }> {
  const suite = spawn(process.execPath, [`${ROOT}node_modules/.bin/conformance`, ...args], {
    env: { ...process.env, ...(worker === undefined ? {} : { MCP_EDGE_CLIENT_WORKER: worker }) },
  });
  let output = "";
  const keep = (data: Buffer): void => {
    output += data.toString();
  };
  suite.stdout.on("data", keep);
  suite.stderr.on("data", keep);
  return new Promise((resolve, reject) => {
    suite.on("error", reject);
    suite.on("close", (exitCode) => resolve({ exitCode, output }));
  });
}
