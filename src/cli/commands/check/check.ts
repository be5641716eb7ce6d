/**
 * `mcp-edge check`: runs the checks of mcp-edge and of the official suite in every protocol version that a server supports.
 *
 * @module
 */

import { CliError, Exit, usageError } from "../../exit.ts";
import { checkCredentials } from "../../server/open-target.ts";
import type { ServerAddress } from "../../server/server-address.ts";
import { findName, readTarget } from "../../server/target.ts";
import { printJson } from "../../terminal/show.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { createTerminal, type Terminal } from "../../terminal/terminal.ts";
import type { CheckOptions } from "./options.ts";
import { CHECKED_VERSIONS, type Probed, probeVersion } from "./probes.ts";
import { type CheckRow, printRows } from "./rows.ts";
import {
  fetchedSuite,
  installedSuite,
  listScenarios,
  requireNode,
  runScenarios,
  SUITE_MISSING,
  type Suite,
} from "./suite.ts";

/** Runs the command and returns its exit code. */
export async function checkServer(server: string, options: CheckOptions): Promise<number> {
  const terminal = createTerminal();
  const target = await readTarget(server, options);
  checkCredentials(target, options.header);
  const interruption = listenForSignals();
  const { signal } = interruption;
  try {
    const suite = await chooseSuite(target, options, terminal, signal);
    const probed: Probed[] = [];
    for (const version of CHECKED_VERSIONS) {
      terminal.status(`checking ${version}`);
      probed.push(await probeVersion(target, version, options, terminal, signal));
    }
    if (!probed.some(({ capabilities }) => capabilities)) {
      const reasons = new Set(probed.flatMap(({ rows }) => rows.map(({ detail }) => detail)));
      const text = "The server supports none of the protocol versions that mcp-edge supports";
      throw new CliError(Exit.serverError, `${text}: ${[...reasons].join("; ")}.`);
    }
    const rows = [...probed.flatMap((each) => each.rows), ...(await official(suite, target, probed, terminal, signal))];
    terminal.status(undefined);
    if (options.json) printJson(terminal, { server: findName(target), rows });
    else printRows(rows, terminal);
    return rows.some(({ status }) => status === "failed") ? Exit.serverError : Exit.ok;
  } finally {
    terminal.status(undefined);
    interruption.stop();
  }
}

/** Returns the suite to run; undefined if it cannot test this server, or the user does not want it. */
async function chooseSuite(
  target: ServerAddress,
  { suite, fetch: mayFetch, header, json }: CheckOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Suite | undefined> {
  if (!suite) return undefined;
  const reason = await reasonToDoWithout(target, header !== undefined, signal);
  if (reason !== undefined) {
    if (!json) terminal.note(`The official suite ${reason}, so only the checks of mcp-edge are run.`);
    return undefined;
  }
  requireNode();
  const installed = installedSuite();
  if (installed) return installed;
  if (mayFetch) return fetchedSuite();
  if (!terminal.canAsk) throw usageError(SUITE_MISSING);
  const { askYesNo } = await import("../../terminal/ask.ts");
  const isAgreed = await askYesNo("The official conformance suite is not installed. Fetch it with npm?", signal, true);
  signal.throwIfAborted();
  return isAgreed ? fetchedSuite() : undefined;
}

async function reasonToDoWithout(
  target: ServerAddress,
  hasHeaders: boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (target.kind === "stdio") return "tests only servers over HTTP";
  if (hasHeaders) return "cannot send headers";
  try {
    const { status, body } = await fetch(target.url, { method: "POST", body: "{}", redirect: "manual", signal });
    await body?.cancel();
    return status === 401 ? "cannot sign in" : undefined;
  } catch {
    signal.throwIfAborted();
    // The checks of mcp-edge report why the server cannot be reached.
    return undefined;
  }
}

async function official(
  suite: Suite | undefined,
  target: ServerAddress,
  probed: readonly Probed[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<CheckRow[]> {
  if (!suite || target.kind === "stdio") return [];
  terminal.status("starting the official suite");
  const scenarios = await listScenarios(suite, signal);
  // The suite's scenario for servers on this machine requires the host name, not the IP address.
  const url = target.url.replace("//127.0.0.1", "//localhost");
  const rows: CheckRow[] = [];
  for (const { version, capabilities } of probed) {
    if (!capabilities) continue;
    const onStart = (name: string) => terminal.status(`${version}: ${name}`);
    rows.push(...(await runScenarios(suite, scenarios, { url, version, capabilities }, onStart, signal)));
  }
  return rows;
}
