/**
 * The format of a server's entry in the configuration file of each host.
 *
 * @module
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { ServerAddress } from "../server/server-address.ts";
import { shellWord } from "../terminal/shell.ts";

/** A host that `mcp-edge connect` supports. */
export interface KnownHost {
  readonly name: string;
  readonly title: string;
  /** Returns the entry for a server. Undefined for a host without a configuration file. */
  readonly entry?: (target: ServerAddress) => JsonObject;
  /** Returns what the user must do afterwards, or instead if there is no file. */
  readonly advice: (target: ServerAddress, name: string) => string;
}

/** Returns the entry for a local server, in the format that most hosts use. */
function local({ command, args, env, cwd }: Extract<ServerAddress, { kind: "stdio" }>): JsonObject {
  return { command, args: [...args], ...(env ? { env } : {}), ...(cwd ? { cwd } : {}) };
}

/** Returns an entry that runs `mcp-edge bridge`, for hosts that support only local servers. */
function bridged(url: string): JsonObject {
  return { command: "npx", args: ["-y", "mcp-edge", "bridge", url] };
}

const remoteOr = (remote: (url: string) => JsonObject) => (target: ServerAddress) =>
  target.kind === "http" ? remote(target.url) : local(target);

function commandLine(target: Extract<ServerAddress, { kind: "stdio" }>): string {
  return [target.command, ...target.args].map(shellWord).join(" ");
}

const restart = (title: string) => () => `Quit ${title} completely and start it again.`;

/** The hosts that `mcp-edge connect` supports. They have the same names as in `hosts/files.ts`. */
export const HOSTS: readonly KnownHost[] = [
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    entry: remoteOr(bridged),
    advice: restart("Claude Desktop"),
  },
  {
    name: "claude-code",
    title: "Claude Code",
    entry: (target) =>
      target.kind === "http" ? { type: "http", url: target.url } : { type: "stdio", ...local(target) },
    advice: () => "Restart Claude Code. Its command /mcp lists the server.",
  },
  {
    name: "cursor",
    title: "Cursor",
    entry: remoteOr((url) => ({ url })),
    advice: () => "Cursor lists the server in Settings, MCP.",
  },
  {
    name: "vscode",
    title: "VS Code",
    entry: (target) =>
      target.kind === "http" ? { type: "http", url: target.url } : { type: "stdio", ...local(target) },
    advice: () => "In VS Code, the command MCP: List Servers lists the server.",
  },
  {
    name: "windsurf",
    title: "Windsurf",
    entry: remoteOr((serverUrl) => ({ serverUrl })),
    advice: () => "Press Refresh in Windsurf's list of MCP servers.",
  },
  {
    name: "zed",
    title: "Zed",
    entry: remoteOr((url) => ({ url })),
    advice: () => "Zed lists the server in the settings of its agent panel.",
  },
  {
    name: "chatgpt",
    title: "ChatGPT",
    advice: (target, name) => {
      const isPublic = target.kind === "http" && target.url.startsWith("https:");
      const where = isPublic ? target.url : "its https: address, after npm run deploy";
      return `ChatGPT has no configuration file. In its settings, open Apps & Connectors, turn on developer mode in the advanced settings, and create a connector:\n  Name: ${name}\n  MCP server URL: ${where}${isPublic ? "" : "\nChatGPT connects over the internet, so an address on this machine does not work."}`;
    },
  },
  {
    name: "inspector",
    title: "the MCP Inspector",
    advice: (target) =>
      target.kind === "http"
        ? `Run: npx @modelcontextprotocol/inspector --transport http --server-url ${shellWord(target.url)}`
        : `Run: npx @modelcontextprotocol/inspector ${commandLine(target)}`,
  },
];
