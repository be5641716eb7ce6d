/**
 * The configuration format for servers that Claude, Cursor and VS Code share: `mcpServers` (in VS Code `servers`) maps the name of each
 * server to a command or a URL.
 *
 * @module
 */
import { KitError } from "../../core/protocol/errors.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";

/** A server that runs as a child process. */
export interface CommandServer {
  /** The program. */
  readonly command: string;
  /** Its arguments. */
  readonly args: readonly string[];
  /** Additional environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** The working directory. @default the working directory of the host */
  readonly cwd?: string;
}

/** A server at a URL. */
export interface UrlServer {
  /** The URL. */
  readonly url: string;
  /** Headers for each request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A server in a configuration. */
export type ConfiguredServer = CommandServer | UrlServer;

/**
 * Returns the value of a variable in a configuration, or undefined if there is none. The name is `HOME` for `${HOME}` and
 * `${env:HOME}`, `input:key` for `${input:key}`, and `workspaceFolder` for `${workspaceFolder}`.
 */
export type ConfigVariables = (name: string) => string | undefined;

/** Matches `${NAME}`, `${kind:NAME}` and `${NAME:-default}`. */
const VARIABLE = /\$\{([^}:]+(?::(?!-)[^}]*?)?)(?::-([^}]*))?\}/g;

/**
 * Returns the entries of a configuration by the names of their servers, without disabled entries.
 *
 * @throws {KitError} `options-invalid` if it has neither `mcpServers` nor `servers`.
 */
export function listServers(config: unknown): ReadonlyMap<string, unknown> {
  const { mcpServers, servers = mcpServers } = isObject(config) ? config : {};
  if (!isObject(servers)) {
    const text = 'The configuration has no servers. Write { "mcpServers": { "name": { "url": "https://..." } } }.';
    throw new KitError("options-invalid", text);
  }
  return new Map(Object.entries(servers).filter(([, entry]) => !isDisabled(entry)));
}

/** Whether the entry of a server is disabled. */
export function isDisabled(entry: unknown): boolean {
  return isObject(entry) && (entry.disabled === true || entry.enabled === false);
}

/**
 * Reads the entry of one server, and substitutes its variables.
 *
 * @throws {KitError} `options-invalid` with the server and the invalid member, or the variable without a value.
 */
export function readServer(name: string, entry: unknown, variables: ConfigVariables): ConfiguredServer {
  return fillServer(name, parseServer(name, entry), variables);
}

/**
 * Reads the entry of one server without substituting its variables.
 *
 * @throws {KitError} `options-invalid` with the server and the invalid member.
 */
export function parseServer(name: string, entry: unknown): ConfiguredServer {
  if (!isObject(entry)) throw wrong(name, "is not an object");
  // In older configurations of Zed, the command is an object.
  const whole = isObject(entry.command) ? { ...entry, ...entry.command, command: entry.command.path } : entry;
  const text = (value: unknown, member: string): string => {
    // Accept numbers and booleans, because a port may be written as a number.
    if (["string", "number", "boolean"].includes(typeof value)) return String(value);
    throw wrong(name, `has a member ${member} that is not a string`);
  };
  const texts = (member: string): Record<string, string> => {
    const values = whole[member] ?? {};
    if (!isObject(values)) throw wrong(name, `has a member ${member} that is not an object`);
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, text(value, `${member}.${key}`)]));
  };
  // Some hosts call the URL of Streamable HTTP "httpUrl" or "serverUrl".
  const { command, cwd, url = whole.httpUrl ?? whole.serverUrl } = whole;
  if (url !== undefined) return { url: text(url, "url"), headers: texts("headers") };
  if (command === undefined || command === "") throw wrong(name, "has neither a command nor a url");
  if (typeof command !== "string") throw wrong(name, "has a member command that is not a string");
  const args = whole.args ?? [];
  if (!Array.isArray(args)) throw wrong(name, "has a member args that is not an array");
  return {
    command,
    args: args.map((arg, index) => text(arg, `args[${index}]`)),
    env: texts("env"),
    ...(cwd === undefined ? {} : { cwd: text(cwd, "cwd") }),
  };
}

/**
 * Substitutes the variables of a server.
 *
 * @throws {KitError} `options-invalid` with the variable, if it has no value.
 */
export function fillServer(name: string, server: ConfiguredServer, variables: ConfigVariables): ConfiguredServer {
  return mapStrings(server, (text, member) =>
    text.replace(VARIABLE, (_, variable: string, preset: string | undefined) => {
      const found = variables(variable.replace(/^env:/, "")) ?? preset;
      if (found !== undefined) return found;
      throw wrong(name, `uses the variable \${${variable}} in ${member}, which has no value`);
    }),
  );
}

/** Returns the names of the variables of a server, as they are passed to {@link ConfigVariables}. */
export function variablesIn(server: ConfiguredServer): readonly string[] {
  const names = new Set<string>();
  mapStrings(server, (text) => {
    for (const [, variable = ""] of text.matchAll(VARIABLE)) names.add(variable.replace(/^env:/, ""));
    return text;
  });
  return [...names];
}

function mapStrings(server: ConfiguredServer, map: (text: string, member: string) => string): ConfiguredServer {
  const mapAll = (values: Readonly<Record<string, string>>, member: string) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, `${member}.${key}`)]));
  if ("url" in server) return { url: map(server.url, "url"), headers: mapAll(server.headers, "headers") };
  const { command, args, env, cwd } = server;
  return {
    command: map(command, "command"),
    args: args.map((arg, index) => map(arg, `args[${index}]`)),
    env: mapAll(env, "env"),
    ...(cwd === undefined ? {} : { cwd: map(cwd, "cwd") }),
  };
}

function wrong(name: string, problem: string): KitError {
  return new KitError("options-invalid", `The server "${name}" ${problem}.`);
}
