/**
 * Finds a server by the name that it has in the configuration of a host.
 *
 * @module
 */
import { isLoopback } from "../../http/origin.ts";
import { CliError, Exit, usageError } from "../exit.ts";
import { didYouMean } from "../names.ts";
import type { ServerAddress } from "../server/server-address.ts";
import { listenForSignals } from "../terminal/signals.ts";
import { createTerminal } from "../terminal/terminal.ts";
import { type HostFileServers, type HostServer, readHosts, surroundings } from "./configured.ts";
import { askConsent, consentMissing } from "./consent.ts";

/**
 * Returns how to reach the server that is configured under a name, such as `weather`, or `cursor:weather` to choose the host. If a
 * host has it both in the user's file and in the project's, `cursor:user:weather` and `cursor:project:weather` distinguish them.
 *
 * @param isAgreed Whether to use a server from a project's file without asking.
 * @throws {CliError} if there is no such server, if several hosts have different ones, or if the user refuses to use it.
 */
export async function findConfigured(name: string, isAgreed: boolean): Promise<ServerAddress> {
  return (await findServer(name, isAgreed)).target;
}

/** Returns the entry of the server that is configured under a name, and how to reach the server. @see findConfigured */
export async function findServer(
  name: string,
  isAgreed: boolean,
): Promise<{ readonly server: HostServer; readonly target: ServerAddress }> {
  const files = readHosts(surroundings());
  const all = files.flatMap(({ servers }) => servers);
  const found = all.filter((each) => [each.name, qualified(each), scoped(each)].includes(name));
  // The user's own files need no consent, even if a project has the same entry.
  const first = found.find(({ file }) => file.scope === "user") ?? found[0];
  if (!first) throw notFound(name, files);
  // Several hosts often have the same server.
  const others = found.filter((each) => JSON.stringify(each.written) !== JSON.stringify(first.written));
  if (others.length > 0) {
    const names = found.map((each) => spelling(each, found)).join(", ");
    throw usageError(`Several servers have the name ${JSON.stringify(name)}. Write one of: ${names}`);
  }
  if (!isAgreed) await agree(first);
  try {
    return { server: first, target: first.resolve() };
  } catch (error) {
    throw usageError(`The server ${qualified(first)} cannot be used: ${(error as Error).message}`);
  }
}

/** Asks before a server from a project's file is used. @throws {CliError} if the user refuses or cannot be asked. */
async function agree(server: HostServer): Promise<void> {
  if (server.file.scope !== "project") return;
  const terminal = createTerminal();
  if (!terminal.canAsk) throw consentMissing(server);
  const interruption = listenForSignals();
  try {
    const isAgreed = await askConsent([server], terminal, interruption.signal);
    interruption.signal.throwIfAborted();
    if (!isAgreed) throw new CliError(Exit.cancelled, "The server was not used.");
  } finally {
    interruption.stop();
  }
}

/** Returns the names of all configured servers. */
export async function configuredNames(): Promise<readonly string[]> {
  return [...new Set(readHosts(surroundings()).flatMap(({ servers }) => servers.map(({ name }) => name)))];
}

function qualified({ file, name }: HostServer): string {
  return `${file.host}:${name}`;
}

function scoped({ file, name }: HostServer): string {
  return `${file.host}:${file.scope}:${name}`;
}

/** Returns the shortest spelling that identifies this one among several servers with the same name. */
function spelling(server: HostServer, all: readonly HostServer[]): string {
  const isOnly = all.filter((each) => qualified(each) === qualified(server)).length === 1;
  return isOnly ? qualified(server) : scoped(server);
}

/** Returns a hint if the name is a URL without its scheme, such as `localhost:8787/mcp`. */
function addressHint(text: string): string | undefined {
  if (!/^[\w-]+(\.[\w-]+)*(:\d+)?(\/|$)/.test(text) || !/[.:]/.test(text)) return undefined;
  const url = `https://${text}`;
  if (!URL.canParse(url)) return undefined;
  return ` Did you mean ${isLoopback(new URL(url).hostname) ? `http://${text}` : url}?`;
}

function notFound(name: string, files: readonly HostFileServers[]): Error {
  const names = [...new Set(files.flatMap(({ servers }) => servers.map((each) => each.name)))];
  // The server may be in a file that cannot be read.
  const unread = files.flatMap(({ file, problem }) => (problem === undefined ? [] : [`\n${file.path}: ${problem}`]));
  const hint =
    addressHint(name) ??
    (names.length === 0 ? " No host on this machine has configured servers." : didYouMean(name, names));
  return usageError(
    `No server is configured as ${JSON.stringify(name)}.${hint}${unread.join("")}\nA server is a URL, a configured name, or a command after --, or in quotes: mcp-edge list "node server.js"`,
  );
}
