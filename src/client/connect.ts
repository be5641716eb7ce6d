import type { Transport } from "../core/protocol/transport.ts";
import { Client } from "./client.ts";
import { Conversation } from "./conversation.ts";
import type { ClientOptions } from "./options.ts";

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
 * @param target The URL of a server, or a transport such as `stdio()` of `mcp-edge/node`. A transport is started and
 *   closed by the client.
 * @throws {KitError} `options-invalid` naming the option.
 * @throws {ClientError} if the server cannot be reached, refuses the connection, or speaks none of the versions.
 * @throws {McpError} the error with which the server answered `initialize`.
 * @see MCP 2026-07-28, basic/versioning; MCP 2025-11-25, basic/lifecycle
 */
export async function connect(target: string | URL | Transport, options: ClientOptions): Promise<Client> {
  const conversation = new Conversation(target, options);
  await conversation.connect();
  return new Client(conversation);
}
