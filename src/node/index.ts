/**
 * mcp-edge/node: functions for Node. They serve an MCP server over stdio and HTTP, start stdio servers and handle sign-in for
 * `mcp-edge/client`, and give handlers safe access to files, commands and the network.
 *
 * @module
 */

import "./node-20.ts";

export type { ArgumentPattern, CommandOptions, CommandResult, RunCommand, RunOptions } from "./commands.ts";
export { allowCommands } from "./commands.ts";
export type { EnvOptions } from "./env-options.ts";
export type { ReadFileOptions } from "./files/files-within.ts";
export { readFileWithin, resolveFile } from "./files/files-within.ts";
export { type OpenFoldersOptions, openFolders } from "./files/open-folders.ts";
export { fileStore } from "./oauth-file-store.ts";
export type { LoopbackOptions } from "./oauth-loopback.ts";
export { loopbackRedirect, openBrowser, printAndOpen, resolveHost } from "./oauth-loopback.ts";
export type { PinnedFetchOptions } from "./pinned-fetch.ts";
export { createPinnedFetch } from "./pinned-fetch.ts";
export { readMcpConfig } from "./read-config.ts";
export { readSkills } from "./read-skills.ts";
export type { FetchApp, HttpExecution, HttpServing, ServeHttpOptions } from "./serve-http.ts";
export { serveHttp } from "./serve-http.ts";
export type { ServeStdioOptions } from "./serve-stdio.ts";
export { serveStdio } from "./serve-stdio.ts";
export type { StdioOptions } from "./stdio-client.ts";
export { StdioClientTransport, stdio } from "./stdio-client.ts";
export type { StdioTransportOptions } from "./stdio-transport.ts";
export { StdioServerTransport } from "./stdio-transport.ts";
