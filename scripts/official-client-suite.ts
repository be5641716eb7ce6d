/** Runs the client scenarios of the official conformance suite. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import clientWorker from "../test/conformance/fixtures/client-worker.ts";
import { Workerd } from "../test/harness/workerd.ts";
import { startNodeServer } from "../test/http/node-server.ts";
import type { Check } from "./official-suite.ts";
import { ROOT } from "./tools.ts";

const TOKEN_ENDPOINT = [
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
] as const;

/** Scenarios of authorization that the two newest versions have. */
const SIGN_IN = [
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  ...TOKEN_ENDPOINT,
  "auth/pre-registration",
] as const;

/** The scenarios that must be clean, by the version that the suite speaks. Extensions have no version. */
export const CLIENT_SCENARIOS = {
  "2025-03-26": ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"],
  "2025-06-18": ["initialize", "tools_call", ...TOKEN_ENDPOINT],
  "2025-11-25": [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
    ...SIGN_IN,
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
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
    ...SIGN_IN,
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
  ],
  extension: [
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
  ],
} as const;

/** Asks the suite for its client scenarios and returns those that {@link CLIENT_SCENARIOS} lacks. */
export async function missingClientScenarios(): Promise<{ readonly version: string; readonly name: string }[]> {
  const { output } = await runSuite(["list", "--client"]);
  const listed = [...output.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)].flatMap(([, name = "", versions = ""]) =>
    versions.split(",").map((version) => ({ version, name })),
  );
  if (listed.length === 0) throw new Error(`the suite lists no client scenario:\n${output}`);
  const ours: Readonly<Record<string, readonly string[]>> = CLIENT_SCENARIOS;
  // A scenario of an extension belongs to no version, and is run in any of them.
  const isRun = (version: string, name: string) =>
    version === "extension"
      ? Object.values(ours).some((names) => names.includes(name))
      : ours[version]?.includes(name) === true;
  return listed.filter(({ version, name }) => !isRun(version, name));
}

export interface ClientScenario {
  readonly version: string;
  readonly name: string;
  /** Whether the suite itself reports that the scenario has passed. */
  readonly isAccepted: boolean;
  /** "finished" or "failed", as the client wrote in its last line; undefined if it was cut off before. */
  readonly end: string | undefined;
  readonly checks: readonly Check[];
  /** The output of suite and client. */
  readonly output: string;
}

/** The scenarios with a server that the client must refuse. */
const REFUSING: ReadonlySet<string> = new Set([
  "auth/scope-retry-limit",
  "auth/resource-mismatch",
  "auth/iss-supported-missing",
  "auth/iss-wrong-issuer",
  "auth/iss-unexpected",
  "auth/iss-normalized",
  "auth/metadata-issuer-mismatch",
]);

/**
 * True if the suite accepts the scenario, something succeeded, there is neither a failure nor a warning, and the client has
 * finished, or failed where it must refuse the server.
 */
export function isCleanRun({ name, isAccepted, end, checks }: ClientScenario): boolean {
  return isAccepted && areClean(checks) && end === (REFUSING.has(name) ? "failed" : "finished");
}

/** True if something succeeded, and there is neither a failure nor a warning. */
export function areClean(checks: readonly Check[]): boolean {
  const has = (status: Check["status"]) => checks.some((check) => check.status === status);
  return has("SUCCESS") && !has("FAILURE") && !has("WARNING");
}

/** The runtimes on which the client is run. */
export const RUNTIMES = ["Node", "workerd"] as const;
export type RuntimeName = (typeof RUNTIMES)[number];

/** Every scenario with its version. */
export const EVERY_CLIENT_SCENARIO: readonly ScenarioName[] = Object.entries(CLIENT_SCENARIOS).flatMap(
  ([version, names]) => names.map((name) => [version, name] as const),
);
type ScenarioName = readonly [version: string, name: string];

/**
 * The suite's groups that are run as a whole, by version. The suite runs the scenarios of a group concurrently. All other scenarios
 * run one at a time, because one of them measures time.
 */
const GROUPS = [
  ["2025-03-26", "backcompat"],
  ["2025-06-18", "auth"],
  ["2025-11-25", "auth"],
  ["2026-07-28", "auth"],
  ["2026-07-28", "draft"],
  ["extension", "extensions"],
] as const;

/** Runs every scenario on one runtime. */
export async function runClientSuite(runtime: RuntimeName): Promise<ClientScenario[]> {
  const client = await (runtime === "Node"
    ? startNodeServer({ "/": clientWorker.fetch }, undefined)
    : Workerd.start({ entry: "test/conformance/fixtures/client-worker.ts" }));
  try {
    const grouped: ClientScenario[] = [];
    for (const [version, group] of GROUPS) grouped.push(...(await runGroup(version, group, client.origin)));
    const done: ClientScenario[] = [];
    for (const [version, name] of EVERY_CLIENT_SCENARIO) {
      const found = grouped.find((scenario) => scenario.version === version && scenario.name === name);
      done.push(found ?? (await run(version, name, client.origin)));
    }
    return done;
  } finally {
    await client.stop();
  }
}

/** Runs all scenarios of a group of the suite. */
export async function runGroup(version: string, group: string, client: string): Promise<ClientScenario[]> {
  const { output, results } = await runInFolder(["--suite", group], version, client);
  const accepted = new Set([...output.matchAll(/^✓ (\S+): /gm)].map(([, name]) => name));
  return [...results].map(([name, result]) => ({ version, name, isAccepted: accepted.has(name), ...result, output }));
}

/**
 * Runs one scenario. A name that the suite or the client does not know is not clean.
 *
 * @param client The origin at which the client waits for the names of scenarios.
 */
export async function run(version: string, name: string, client: string): Promise<ClientScenario> {
  // Scenarios of extensions belong to no version, so the suite skips them with one unless it is forced.
  const forced = name.startsWith("sep-2640") ? ["--force"] : [];
  const { exitCode, output, results } = await runInFolder(["--scenario", name, ...forced], version, client);
  const { end, checks } = results.get(name) ?? { end: undefined, checks: [] };
  return { version, name, isAccepted: exitCode === 0, end, checks, output };
}

/** Runs the suite. `results` has what it wrote about each scenario. */
async function runInFolder(args: readonly string[], version: string, client: string) {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-conformance-"));
  try {
    const command = `${process.execPath} ${ROOT}test/conformance/client-driver.ts`;
    const versioned = version === "extension" ? [] : ["--spec-version", version];
    const ran = await runSuite(["client", "--command", command, ...args, ...versioned, "-o", folder], client);
    const results = new Map<string, Pick<ClientScenario, "end" | "checks">>();
    for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      // The folder of a scenario has its name and the time.
      const [, name] = /^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z[/\\]checks\.json$/.exec(path) ?? [];
      if (name === undefined) continue;
      const checks = JSON.parse(readFileSync(join(folder, path), "utf8")) as Check[];
      const written = readFileSync(join(folder, dirname(path), "stderr.txt"), "utf8");
      results.set(name, { checks, end: /^The client has (finished|failed)\.$/m.exec(written)?.[1] });
    }
    return { ...ran, results };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runSuite(args: readonly string[], client?: string): Promise<{ exitCode: number | null; output: string }> {
  const suite = spawn(process.execPath, [`${ROOT}node_modules/.bin/conformance`, ...args], {
    env: { ...process.env, ...(client === undefined ? {} : { MCP_EDGE_CLIENT: client }) },
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
