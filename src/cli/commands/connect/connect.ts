/**
 * `mcp-edge connect`: shows the change to a host's configuration file, asks for confirmation, and writes it.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { isLoopback } from "../../../http/origin.ts";
import { parseJsonc } from "../../../node/jsonc.ts";
import { CliError, Exit, usageError } from "../../exit.ts";
import { readJsonFile } from "../../files/json-file.ts";
import { changeFile, readHostFile } from "../../hosts/change-file.ts";
import { surroundings } from "../../hosts/configured.ts";
import { setEntry } from "../../hosts/edit-jsonc.ts";
import { HOSTS, type KnownHost } from "../../hosts/entries.ts";
import { type HostFile, hostFiles } from "../../hosts/files.ts";
import { didYouMean } from "../../names.ts";
import type { ServerAddress } from "../../server/server-address.ts";
import { COMMAND, isName, readTarget } from "../../server/target.ts";
import { redact } from "../../terminal/redact.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { clean, createTerminal, type Terminal } from "../../terminal/terminal.ts";
import type { ConnectOptions } from "./options.ts";

/**
 * Runs the command and returns its exit code.
 *
 * @param words The host and the server, if they were given. A command after `--` is the first word, because `moveCommand` puts it
 *   there.
 */
export async function connectTo(words: readonly (string | undefined)[], options: ConnectOptions): Promise<number> {
  const [hostName, server] = words[0]?.startsWith(COMMAND) ? [words[1], words[0]] : words;
  const terminal = createTerminal();
  const interruption = listenForSignals();
  const { signal } = interruption;
  try {
    const host = await findHost(hostName, terminal, signal);
    const { target, known } = await toTarget(server, options);
    const name = options.name ?? known ?? nameFor(target);
    if (!/^[\w.-]{1,64}$/.test(name)) {
      throw usageError(`--name ${JSON.stringify(name)}: use 1 to 64 letters, digits, dots, dashes and underscores.`);
    }
    if (!host.entry) {
      terminal.print(host.advice(target, name));
      return Exit.ok;
    }
    const file = toFile(host, options);
    const entry = host.entry(target);
    if (options.print) {
      terminal.note(`For ${file.path}:`);
      terminal.print(JSON.stringify({ [file.member]: { [name]: entry } }, undefined, 2));
      return Exit.ok;
    }
    return await write(host, file, name, entry, { options, target, terminal, signal });
  } finally {
    interruption.stop();
  }
}

async function findHost(name: string | undefined, terminal: Terminal, signal: AbortSignal): Promise<KnownHost> {
  const names = HOSTS.map((each) => each.name);
  if (name !== undefined) {
    const found = HOSTS.find((each) => each.name === name);
    if (found) return found;
    throw usageError(`There is no host ${JSON.stringify(name)}.${didYouMean(name, names)}`);
  }
  if (!terminal.canAsk) throw usageError(`Name a host: ${names.join(", ")}`);
  const { askChoice } = await import("../../terminal/ask.ts");
  const choices = HOSTS.map((each) => ({ value: each, label: each.title }));
  const chosen = await askChoice("To which host should the server be added?", choices, signal);
  signal.throwIfAborted();
  return chosen ?? cancelled();
}

function cancelled(): never {
  throw new CliError(Exit.cancelled, "Nothing was changed.");
}

/** Returns the address of the server to add, and its name if it is already configured in a host. */
async function toTarget(
  server: string | undefined,
  options: ConnectOptions,
): Promise<{ readonly target: ServerAddress; readonly known?: string }> {
  if (server === undefined) return { target: ownServer() };
  if (!isName(server)) return { target: absolute(await readTarget(server)) };
  const { findServer } = await import("../../hosts/find.ts");
  const { server: found, target } = await findServer(server, options.yes === true);
  // A project's file is shared. Values from one of the user's own files may be copied into another.
  const values = target.kind === "http" ? target.headers : options.project && target.env;
  if (found.variables.length > 0 || Object.keys(values || {}).length > 0) {
    throw usageError(
      `The server ${JSON.stringify(found.name)} has variables or headers. Their values may be secrets and would be written to the file of the other host. Give the server's URL, or its command after --, and add the rest by hand.`,
    );
  }
  return { target: absolute(target), known: found.name };
}

/** Returns the stdio server of the project in this folder. Hosts start it from another folder and PATH, so paths are absolute. */
function ownServer(): ServerAddress {
  const entry = resolve("src/stdio.ts");
  if (existsSync(entry)) return { kind: "stdio", command: process.execPath, args: [entry] };
  throw usageError("This folder has no src/stdio.ts. Give the URL of a server, or its command after --.");
}

/** Makes the paths of existing files absolute, because hosts start servers in another folder. */
function absolute(target: ServerAddress): ServerAddress {
  if (target.kind === "http") return target;
  const toPath = (word: string) => (/[\\/.]/.test(word) && existsSync(word) ? resolve(word) : word);
  const command = target.command === "node" ? process.execPath : toPath(target.command);
  return { ...target, command, args: target.args.map(toPath) };
}

/** Returns the name of the project in this folder for a server on this machine; otherwise the host name. */
function nameFor(target: ServerAddress): string {
  const hostname = target.kind === "http" ? new URL(target.url).hostname : undefined;
  const { name } = readJsonFile("package.json") ?? {};
  const isOwn = hostname === undefined || isLoopback(hostname);
  if (isOwn && typeof name === "string" && name !== "") return name.replace(/^@.*\//, "");
  return hostname?.replace(/[^\w.-]/g, "-") ?? "server";
}

function toFile(host: KnownHost, { project }: ConnectOptions): HostFile {
  const files = hostFiles(surroundings()).filter((each) => each.host === host.name);
  const found = files.find(({ scope }) => (scope === "project") === (project === true));
  if (found) return found;
  throw usageError(`${host.title} has no file in a project. Leave out --project.`);
}

interface Writing {
  readonly options: ConnectOptions;
  readonly target: ServerAddress;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

async function write(
  host: KnownHost,
  file: HostFile,
  name: string,
  entry: JsonObject,
  { options, target, terminal, signal }: Writing,
): Promise<number> {
  const { path, text } = readHostFile(file, surroundings().cwd);
  // If the file cannot be changed, this throws before the user is asked.
  changed(file, text, name, entry);
  const old = entryIn(text, file.member, name);
  if (JSON.stringify(old) === JSON.stringify(entry)) {
    terminal.note(`${file.path} already has this entry.`);
    return Exit.ok;
  }
  show(file, name, old, entry, terminal);
  if (!options.yes) {
    if (!terminal.canAsk)
      throw usageError(
        "There is no terminal to ask in. Add --yes to change the file, or --print to only print the entry.",
      );
    const { askYesNo } = await import("../../terminal/ask.ts");
    const isAgreed = await askYesNo(`Change ${path}?`, signal, true);
    signal.throwIfAborted();
    if (!isAgreed) cancelled();
  }
  const change = (now: string) => {
    if (JSON.stringify(entryIn(now, file.member, name)) === JSON.stringify(old)) return changed(file, now, name, entry);
    throw new CliError(
      Exit.cancelled,
      `${path} was changed by another program in the meantime. Run the command again.`,
    );
  };
  const backup = await changeFile(path, change, signal);
  terminal.note(`${path} was changed.${backup === undefined ? "" : ` The previous file was saved as ${backup}`}`);
  terminal.note(host.advice(target, name));
  return Exit.ok;
}

/** Returns the new text of a file. @throws {CliError} if the file is invalid, naming the place. */
function changed({ path, member }: HostFile, before: string, name: string, entry: JsonObject): string {
  try {
    return setEntry(before, member, name, entry);
  } catch (error) {
    throw new CliError(Exit.usage, `${path} cannot be changed. ${(error as Error).message} Repair it, or use --print.`);
  }
}

function entryIn(text: string, member: string, name: string): unknown {
  if (text.trim() === "") return undefined;
  const whole = parseJsonc(text);
  const entries = isObject(whole) ? whole[member] : undefined;
  return isObject(entries) && Object.hasOwn(entries, name) ? entries[name] : undefined;
}

/** Shows the entry before and after the change. The rest of the file is not shown, because it may contain secrets. */
function show(file: HostFile, name: string, old: unknown, entry: JsonObject, { note, err }: Terminal): void {
  const lines = (value: unknown, mark: string, paint: (text: string) => string) =>
    clean(`${JSON.stringify(name)}: ${JSON.stringify(value, undefined, 2)}`)
      .split("\n")
      .map((line) => paint(`${mark} ${line}`))
      .join("\n");
  note(`${err.bold(file.title)} ${file.path}, in ${JSON.stringify(file.member)}:`);
  if (old !== undefined) note(lines(redact(old), "-", err.red));
  note(lines(redact(entry), "+", err.green));
}
