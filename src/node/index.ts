/**
 * mcp-edge/node: serves an MCP server over stdio, and starts servers for `mcp-edge/client`, on Node.
 *
 * @module
 */

export type { ServeStdioOptions } from "./serve-stdio.ts";
export { serveStdio } from "./serve-stdio.ts";
export type { StdioOptions } from "./stdio-client.ts";
export { StdioClientTransport, stdio } from "./stdio-client.ts";
export type { StdioTransportOptions } from "./stdio-transport.ts";
export { StdioServerTransport } from "./stdio-transport.ts";
