/**
 * Finds a server by the name under which a host has it.
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
 * Returns the server that is configured under a name, such as `weather`, or `cursor:weather` for that of one host. A host
 * that has it for the user and for the project distinguishes them as `cursor:user:weather` and `cursor:project:weather`.
 *
 * @param isAgreed Whether a server of a project's file is used without asking.
 * @throws {CliError} if there is none, if hosts have different ones, or if the user does not agree to it.
 */
export async function findConfigured(name: string, isAgreed: boolean): Promise<ServerAddress> {
  return (await findServer(name, isAgreed)).target;
}

/** Returns the server that is configured under a name, as its host has it, and how to reach it. @see findConfigured */
export async function findServer(
  name: string,
  isAgreed: boolean,
): Promise<{ readonly server: HostServer; readonly target: ServerAddress }> {
  const files = readHosts(surroundings());
  const all = files.flatMap(({ servers }) => servers);
  const found = all.filter((each) => [each.name, qualified(each), scoped(each)].includes(name));
  // The user has chosen what stands in a file of the user, even if a project has the same.
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

/** Asks before a server of a project's file is used. @throws {CliError} if the user refuses, or cannot be asked. */
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

/** The shortest spelling that means only this one of several servers with the same name. */
function spelling(server: HostServer, all: readonly HostServer[]): string {
  const isOnly = all.filter((each) => qualified(each) === qualified(server)).length === 1;
  return isOnly ? qualified(server) : scoped(server);
}

/** A hint for an address without its scheme, such as `localhost:8787/mcp`. */
function addressHint(text: string): string | undefined {
  if (!/^[\w-]+(\.[\w-]+)*(:\d+)?(\/|$)/.test(text) || !/[.:]/.test(text)) return undefined;
  const url = `https://${text}`;
  if (!URL.canParse(url)) return undefined;
  return ` Did you mean ${isLoopback(new URL(url).hostname) ? `http://${text}` : url}?`;
}

function notFound(name: string, files: readonly HostFileServers[]): Error {
  const names = [...new Set(files.flatMap(({ servers }) => servers.map((each) => each.name)))];
  // The server may stand in a file that cannot be read.
  const unread = files.flatMap(({ file, problem }) => (problem === undefined ? [] : [`\n${file.path}: ${problem}`]));
  const hint = addressHint(name) ?? (names.length === 0 ? " No host has servers here." : didYouMean(name, names));
  return usageError(
    `No server is configured as ${JSON.stringify(name)}.${hint}${unread.join("")}\nA server is a URL, a configured name, or a command after --, or in quotes: mcp-edge list "node server.js"`,
  );
}
