import { checkClientOptions } from "../api/check-options.ts";
import { Client } from "../api/client.ts";
import type { ClientOptions } from "../api/options.ts";
import type { ConnectTarget } from "./open-link.ts";
import { ServerConnection } from "./server-connection.ts";

/**
 * Connects to an MCP server of any protocol version. Resolves when the version is negotiated.
 *
 * ```ts
 * import { connect } from "mcp-edge/client";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0" });
 * const { content } = await client.callTool("add", { a: 1, b: 2 });
 * await client.close();
 * ```
 *
 * @param target The URL of a server, a transport such as `stdio()` of `mcp-edge/node`, or a function that creates a transport.
 *   The client starts and closes the transport. A transport that closes by itself is replaced by a new one, from the function or
 *   from its `reopen()`.
 * @throws {KitError} `options-invalid` naming the option.
 * @throws {ClientError} if the server is unreachable, refuses the connection, or supports none of the versions.
 * @throws {McpError} if the server responds to `initialize` with an error.
 * @see MCP 2026-07-28, basic/versioning; MCP 2025-11-25, basic/lifecycle
 */
export async function connect(target: ConnectTarget, options: ClientOptions): Promise<Client> {
  await checkClientOptions(options);
  if ((typeof target === "string" || target instanceof URL) && !/^https?:\/\//i.test(String(target)))
    throw (await import("../on-demand.ts")).notHttp(target);
  const connection = new ServerConnection(target, options);
  const client = new Client(connection);
  connection.extend(client);
  await connection.connect();
  return client;
}
