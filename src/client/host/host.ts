import { KitError } from "../../core/protocol/errors.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Client } from "../api/client.ts";
import type { ClientOptions } from "../api/options.ts";
import { connect } from "../connection/connect.ts";
import type { ConnectTarget } from "../connection/open-link.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { CallToolResult, Tool } from "../requests/results.ts";
import {
  type CommandServer,
  type ConfiguredServer,
  type ConfigVariables,
  listServers,
  readServer,
} from "./server-config.ts";
import { createToolName } from "./tool-names.ts";

/** Options of {@link openHost}. */
export interface HostOptions {
  /** The options of every client: its name and version, and the handlers of questions. */
  readonly client: ClientOptions;
  /** Returns additional options for the client of one server. They override the options in `client`. */
  readonly optionsFor?: (server: string) => Partial<ClientOptions>;
  /** Creates the transport to a server with a command: `stdio` of `mcp-edge/node`. Without it, such a server cannot be opened. */
  readonly stdio?: (server: CommandServer) => ConnectTarget;
  /** Returns the values of variables in the configuration, such as `${API_KEY}`. @default there are no variables */
  readonly variables?: ConfigVariables;
  /** Called with each failure of a server, which does not affect the other servers. @default failures are only in `failures` */
  readonly onFailure?: (server: string, error: unknown) => void;
}

/** A tool of one of the servers. */
export interface HostTool {
  /** The name of the tool for the model. It is unique among all tools of the host. */
  readonly name: string;
  /** The name of the server. */
  readonly server: string;
  /** The tool as its server lists it. */
  readonly tool: Tool;
}

/**
 * Opens the servers of a configuration in the format of Claude, Cursor and VS Code, each with its own client. A server that fails does
 * not affect the other servers.
 *
 * @param config The parsed configuration: `{ mcpServers: { name: { command, args, env } | { url, headers } } }`.
 * @throws {KitError} `options-invalid` if the configuration has no servers.
 */
export async function openHost(config: unknown, options: HostOptions): Promise<Host> {
  const entries = listServers(config);
  const clients = new Map<string, Client>();
  const failures = new Map<string, unknown>();
  const opening = [...entries].map(async ([server, entry]) => {
    try {
      return [server, await openServer(server, entry, options)] as const;
    } catch (error) {
      failures.set(server, error);
      report(options, server, error);
      return undefined;
    }
  });
  // In the order of the configuration, not in the order in which the servers were opened.
  for (const opened of await Promise.all(opening)) if (opened) clients.set(...opened);
  return new Host(clients, failures, options);
}

async function openServer(server: string, entry: unknown, options: HostOptions): Promise<Client> {
  const { client, optionsFor, stdio, variables = () => undefined } = options;
  const read: ConfiguredServer = readServer(server, entry, variables);
  const own = { ...client, ...optionsFor?.(server) };
  if ("url" in read) {
    const { url, headers: configured } = read;
    const { headers } = own;
    if (typeof headers !== "function") return connect(url, { ...own, headers: { ...headers, ...configured } });
    return connect(url, { ...own, headers: async () => ({ ...(await headers()), ...configured }) });
  }
  if (!stdio) {
    const text = `The server "${server}" has a command. Pass stdio of mcp-edge/node to openHost(), or give it a url.`;
    throw new KitError("options-invalid", text);
  }
  return connect(stdio(read), own);
}

function report({ onFailure }: HostOptions, server: string, error: unknown): void {
  try {
    onFailure?.(server, error);
  } catch {
    // The hook that receives failures has failed itself.
  }
}

/** Several servers, each with its client. Created by {@link openHost}. */
export class Host {
  readonly #options: HostOptions;
  readonly #tools = new Map<string, HostTool>();
  /** The clients by the names of their servers, in the order of the configuration. */
  readonly clients: ReadonlyMap<string, Client>;
  /** The errors of the servers that could not be opened, by the names of the servers. */
  readonly failures: ReadonlyMap<string, unknown>;

  /** Created by {@link openHost}. @internal */
  constructor(clients: ReadonlyMap<string, Client>, failures: ReadonlyMap<string, unknown>, options: HostOptions) {
    this.clients = clients;
    this.failures = failures;
    this.#options = options;
  }

  /**
   * Lists the current tools of all servers. If a server fails, its tools are missing, and `onFailure` receives the error. With
   * `cache()` in `use`, unchanged lists are not read again.
   */
  async tools(options: RequestOptions = {}): Promise<readonly HostTool[]> {
    const lists = [...this.clients].map(async ([server, client]) => {
      try {
        const hasTools = client.server.capabilities.tools !== undefined;
        return { server, tools: hasTools ? await client.tools(options).all() : [] };
      } catch (error) {
        options.signal?.throwIfAborted();
        report(this.#options, server, error);
        return { server, tools: [] };
      }
    });
    const listed = await Promise.all(lists);
    this.#tools.clear();
    for (const { server, tools } of listed) {
      for (const tool of tools) {
        const name = createToolName(server, tool.name, this.#tools);
        this.#tools.set(name, { name, server, tool });
      }
    }
    return [...this.#tools.values()];
  }

  /**
   * Calls a tool by its name in the host.
   *
   * @throws {KitError} `options-invalid` if no server has a tool with this name.
   * @throws {unknown} the error of `callTool` of the client.
   */
  async callTool(name: string, args?: JsonObject, options?: RequestOptions): Promise<CallToolResult> {
    if (!this.#tools.has(name)) await this.tools();
    const found = this.#tools.get(name);
    const client = found && this.clients.get(found.server);
    if (!client) throw new KitError("options-invalid", `No server has a tool ${JSON.stringify(name)}.`);
    return client.callTool(found.tool, args, options);
  }

  /** Closes all clients. Resolves when all are closed. Errors are passed to `onFailure`. */
  async close(): Promise<void> {
    const closing = [...this.clients].map(([server, client]) =>
      client.close().catch((error: unknown) => report(this.#options, server, error)),
    );
    await Promise.all(closing);
  }
}
