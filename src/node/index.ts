/**
 * mcp-edge/node: serves an MCP server over stdio, on Node.
 *
 * @module
 */

export type { ServeStdioOptions } from "./serve-stdio.ts";
export { serveStdio } from "./serve-stdio.ts";
export type { StdioTransportOptions } from "./stdio-transport.ts";
export { StdioServerTransport } from "./stdio-transport.ts";
