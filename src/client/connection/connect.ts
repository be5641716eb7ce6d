import { Client } from "../api/client.ts";
import { type ClientOptions, checkClientOptions } from "../api/options.ts";
import type { ConnectTarget } from "./open-link.ts";
import { Connection } from "./server-connection.ts";

/**
 * Connects to an MCP server of any protocol version, and resolves once its version is known.
 *
 * ```ts
 * import { connect } from "mcp-edge/client";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0" });
 * const { content } = await client.callTool("add", { a: 1, b: 2 });
 * await client.close();
 * ```
 *
 * @param target The URL of a server, a transport such as `stdio()` of `mcp-edge/node`, or a function that creates one. A
 *   transport is started and closed by the client. If it closes by itself, it is opened again: by the function, by its
 *   own `reopen()`, or, for a URL, over HTTP+SSE.
 * @throws {KitError} `options-invalid` naming the option.
 * @throws {ClientError} if the server cannot be reached, refuses the connection, or speaks none of the versions.
 * @throws {McpError} the error with which the server answered `initialize`.
 * @see MCP 2026-07-28, basic/versioning; MCP 2025-11-25, basic/lifecycle
 */
export async function connect(target: ConnectTarget, options: ClientOptions): Promise<Client> {
  await checkClientOptions(options);
  if ((typeof target === "string" || target instanceof URL) && !/^https?:\/\//i.test(String(target)))
    throw (await import("../on-demand.ts")).noHttp(target);
  const connection = new Connection(target, options);
  const client = new Client(connection);
  connection.extend(client);
  await connection.connect();
  return client;
}
