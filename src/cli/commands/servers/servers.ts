/**
 * `mcp-edge servers`: lists the servers configured in hosts, and tries to connect to each.
 *
 * @module
 */
import { homedir } from "node:os";
import { type Client, connect } from "../../../client/index.ts";
import { CliError, Exit, formatError } from "../../exit.ts";
import { type HostFileServers, type HostServer, readHosts, surroundings } from "../../hosts/configured.ts";
import { askConsent, describe, withoutValues } from "../../hosts/consent.ts";
import { closeInTime } from "../../server/connection.ts";
import { checkCredentials, type Opened, openTarget } from "../../server/open-target.ts";
import type { ServerAddress } from "../../server/server-address.ts";
import { redactText } from "../../terminal/redact.ts";
import { printJson } from "../../terminal/show.ts";
import { listenForSignals, untilInterrupted } from "../../terminal/signals.ts";
import { counted, createTerminal, oneLine, type Terminal } from "../../terminal/terminal.ts";
import type { ServersOptions } from "./options.ts";

/** The number of servers that are tried at the same time. */
const AT_ONCE = 4;
/** The default time limit for each server, in milliseconds. */
const TRY_MS = 20_000;

/** The outcome of trying a server. */
interface Tried {
  readonly server: HostServer;
  readonly state: "works" | "failed" | "skipped";
  /** Why the server failed or was not tried. */
  readonly reason?: string;
  readonly tools?: number;
  readonly ms?: number;
  readonly protocolVersion?: string;
}

/** Runs the command and returns its exit code. */
export async function showServers(options: ServersOptions): Promise<number> {
  const terminal = createTerminal();
  const interruption = listenForSignals();
  const files = readHosts(surroundings());
  const usesProjects = await mayUseProjects(files, options, terminal, interruption.signal);
  try {
    const servers = files.flatMap((file) => file.servers);
    const tried = await tryAll(servers, (server) =>
      tryServer(server, options, usesProjects, terminal, interruption.signal),
    );
    interruption.signal.throwIfAborted();
    if (options.json) printJson(terminal, tried.map(asJson));
    else print(files, tried, terminal);
    return tried.some(({ state }) => state === "failed") || files.some(({ problem }) => problem)
      ? Exit.connection
      : Exit.ok;
  } finally {
    terminal.status(undefined);
    interruption.stop();
  }
}

/** Whether to use servers from the project's files, which are untrusted: asks the user unless `--yes` was given. */
async function mayUseProjects(
  files: readonly HostFileServers[],
  { yes, try: tries }: ServersOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  const foreign = files
    .flatMap(({ servers }) => servers)
    .filter(({ file, written, isDisabled }) => file.scope === "project" && written && !isDisabled);
  if (yes || !tries || foreign.length === 0) return yes ?? false;
  return terminal.canAsk && askConsent(foreign, terminal, signal);
}

async function tryAll(servers: readonly HostServer[], one: (server: HostServer) => Promise<Tried>): Promise<Tried[]> {
  const results: Tried[] = [];
  const queue = [...servers.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await one(next[1]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

async function tryServer(
  server: HostServer,
  options: ServersOptions,
  usesProjects: boolean,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Tried> {
  const { written, problem, isDisabled, file } = server;
  if (isDisabled) return { server, state: "skipped", reason: "disabled" };
  if (!written) return { server, state: "failed", reason: problem ?? "unknown" };
  if (file.scope === "project" && !usesProjects) {
    const reason = options.try ? "from a file of this project; add --yes to try it" : "not tried";
    return { server, state: "skipped", reason };
  }
  let target: ServerAddress;
  try {
    target = server.resolve();
  } catch (error) {
    return { server, state: "failed", reason: withoutValues((error as Error).message, server, process.env) };
  }
  if (!options.try) return { server, state: "skipped", reason: "not tried" };
  terminal.status(`trying ${oneLine(server.name)}`);
  return tryTarget(server, target, options.timeout ?? TRY_MS, terminal, signal);
}

async function tryTarget(
  server: HostServer,
  target: ServerAddress,
  limitMs: number,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Tried> {
  const startMs = performance.now();
  const limit = AbortSignal.timeout(limitMs);
  const quiet = { ...terminal, note: () => undefined };
  const opened = await openTarget(target, { timeout: limitMs }, quiet, { signal, mayAsk: false });
  const connecting = connectSafely(target, opened);
  const both = AbortSignal.any([signal, limit]);
  try {
    const client = await untilInterrupted(connecting, both);
    const hasTools = client.server.capabilities.tools !== undefined;
    const tools = hasTools ? await untilInterrupted(client.tools({ signal: both }).all(), both) : [];
    const ms = Math.round(performance.now() - startMs);
    return { server, state: "works", tools: tools.length, ms, protocolVersion: client.server.protocolVersion };
  } catch (error) {
    const late = new CliError(Exit.cancelled, `The server did not respond within ${limitMs} ms.`);
    const reason = redactText(
      withoutValues(formatError(limit.aborted ? late : opened.explain(error)), server, process.env),
    );
    return { server, state: "failed", reason };
  } finally {
    const client = await Promise.race([connecting.catch(() => undefined), Promise.resolve(undefined)]);
    await closeInTime(client, opened.transport);
  }
}

/** Connects, unless secrets would be sent over an unencrypted connection. */
async function connectSafely(target: ServerAddress, { target: to, options }: Opened): Promise<Client> {
  checkCredentials(target);
  return connect(to, options);
}

function asJson({ server, ...outcome }: Tried): object {
  const { file, name, written } = server;
  return {
    host: file.host,
    scope: file.scope,
    file: file.path,
    name,
    server: written && describe(written),
    ...outcome,
  };
}

function print(files: readonly HostFileServers[], tried: readonly Tried[], terminal: Terminal): void {
  const { out } = terminal;
  if (files.length === 0) terminal.note("No host on this machine has configured servers.");
  for (const { file, servers, problem } of files) {
    if (servers.length === 0 && problem === undefined) continue;
    terminal.print(`${out.bold(file.title)} ${out.dim(shortPath(file.path))}`);
    if (problem !== undefined) terminal.print(`  ${out.red("✗")} ${oneLine(problem, 200)}`);
    for (const each of tried.filter(({ server }) => servers.includes(server)))
      terminal.print(`  ${toLine(each, terminal)}`);
  }
  const failed = tried.filter(({ state }) => state === "failed");
  if (failed.length > 0) terminal.print(out.bold("\nFailures"));
  for (const { server, reason = "" } of failed) {
    const text = reason.split("\n").map((line) => `    ${oneLine(line, 300)}`);
    terminal.print([`  ${out.red(oneLine(server.name))} ${out.dim(server.file.title)}`, ...text].join("\n"));
  }
}

function toLine({ server, state, tools, ms, protocolVersion, reason }: Tried, { out }: Terminal): string {
  const mark = { works: out.green("✓"), failed: out.red("✗"), skipped: out.dim("-") }[state];
  const facts =
    state === "works"
      ? `${counted(tools ?? 0, "tool")}, ${ms} ms, ${protocolVersion}`
      : state === "failed"
        ? "failed"
        : reason;
  const where = server.written ? ` ${out.dim(describe(server.written))}` : "";
  return `${mark} ${out.bold(oneLine(server.name))} (${facts})${where}`;
}

function shortPath(path: string): string {
  const home = homedir();
  return path.startsWith(home) ? `~${path.slice(home.length)}` : path;
}
