/**
 * The configuration of servers that Claude, Cursor and VS Code share: names under `mcpServers` (in VS Code `servers`), each
 * with a command or a URL.
 *
 * @module
 */
import { KitError } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";

/** A server that runs as a child process. */
export interface CommandServer {
  /** The program. */
  readonly command: string;
  /** Its arguments. */
  readonly args: readonly string[];
  /** Further environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** The working directory. @default that of the host */
  readonly cwd?: string;
}

/** A server at a URL. */
export interface UrlServer {
  /** The URL. */
  readonly url: string;
  /** Headers for each request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One server of a configuration. */
export type ConfiguredServer = CommandServer | UrlServer;

/**
 * Returns the value of a variable in a configuration: `HOME` for `${HOME}` and `${env:HOME}`, `input:key` for
 * `${input:key}`, `workspaceFolder` for `${workspaceFolder}`. Undefined if there is none.
 */
export type ConfigVariables = (name: string) => string | undefined;

/** `${NAME}`, `${kind:NAME}` and `${NAME:-default}`. */
const VARIABLE = /\$\{([^}:]+(?::(?!-)[^}]*?)?)(?::-([^}]*))?\}/g;

/**
 * Returns the entries of a configuration by the name of their server, without those that are disabled.
 *
 * @throws {KitError} `options-invalid` if it has neither `mcpServers` nor `servers`.
 */
export function serversOf(config: unknown): ReadonlyMap<string, unknown> {
  const { mcpServers, servers = mcpServers } = isObject(config) ? config : {};
  if (!isObject(servers)) {
    const text = 'The configuration has no servers. Write { "mcpServers": { "name": { "url": "https://..." } } }.';
    throw new KitError("options-invalid", text);
  }
  return new Map(Object.entries(servers).filter(([, entry]) => !isObject(entry) || entry.disabled !== true));
}

/**
 * Reads the entry of one server, with its variables filled in.
 *
 * @throws {KitError} `options-invalid` naming the server and the member that is wrong, or a variable without a value.
 */
export function readServer(name: string, entry: unknown, variables: ConfigVariables): ConfiguredServer {
  const wrong = (problem: string) => new KitError("options-invalid", `The server "${name}" ${problem}.`);
  if (!isObject(entry)) throw wrong("is not described by an object");
  const fill = (value: unknown, member: string): string => {
    if (typeof value !== "string") throw wrong(`has a member ${member} that is not text`);
    return value.replace(VARIABLE, (_, variable: string, preset: string | undefined) => {
      const found = variables(variable.replace(/^env:/, "")) ?? preset;
      if (found === undefined) throw wrong(`uses the variable \${${variable}} in ${member}, which has no value`);
      return found;
    });
  };
  const fillAll = (member: string): Record<string, string> => {
    const { [member]: values = {} } = entry as JsonObject;
    if (!isObject(values)) throw wrong(`has a member ${member} that is not an object`);
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, fill(value, `${member}.${key}`)]));
  };
  // Some hosts call the URL of Streamable HTTP "httpUrl" or "serverUrl".
  const { command, args = [], cwd, url = entry.httpUrl ?? entry.serverUrl } = entry;
  if (url !== undefined) return { url: fill(url, "url"), headers: fillAll("headers") };
  if (command === undefined) throw wrong("has neither a command nor a url");
  if (!Array.isArray(args)) throw wrong("has a member args that is not a list");
  return {
    command: fill(command, "command"),
    args: args.map((arg, index) => fill(arg, `args[${index}]`)),
    env: fillAll("env"),
    ...(cwd === undefined ? {} : { cwd: fill(cwd, "cwd") }),
  };
}
