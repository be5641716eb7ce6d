/**
 * The form in which each host has a server in its file.
 *
 * @module
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { ServerAddress } from "../server/server-address.ts";
import { shellWord } from "../terminal/shell.ts";

/** A host on the command line. */
export interface KnownHost {
  readonly name: string;
  readonly title: string;
  /** Returns the entry for a server. Undefined for a host that keeps no file of servers. */
  readonly entry?: (target: ServerAddress) => JsonObject;
  /** Returns what the user has to do instead, or afterwards. */
  readonly advice: (target: ServerAddress, name: string) => string;
}

/** The entry of a local server, which most hosts share. */
function local({ command, args, env, cwd }: Extract<ServerAddress, { kind: "stdio" }>): JsonObject {
  return { command, args: [...args], ...(env ? { env } : {}), ...(cwd ? { cwd } : {}) };
}

/** A local server that forwards to a remote one, for hosts whose file has only local ones. */
function bridged(url: string): JsonObject {
  return { command: "npx", args: ["-y", "mcp-edge", "bridge", url] };
}

const remoteOr = (remote: (url: string) => JsonObject) => (target: ServerAddress) =>
  target.kind === "http" ? remote(target.url) : local(target);

function commandLine(target: Extract<ServerAddress, { kind: "stdio" }>): string {
  return [target.command, ...target.args].map(shellWord).join(" ");
}

const restart = (title: string) => () => `Quit ${title} completely and start it again.`;

/** The hosts that `mcp-edge connect` knows. The names are those of `hosts/files.ts`. */
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
    advice: () => "Start Claude Code again, and see /mcp there.",
  },
  {
    name: "cursor",
    title: "Cursor",
    entry: remoteOr((url) => ({ url })),
    advice: () => "Cursor lists it in Settings, MCP.",
  },
  {
    name: "vscode",
    title: "VS Code",
    entry: (target) =>
      target.kind === "http" ? { type: "http", url: target.url } : { type: "stdio", ...local(target) },
    advice: () => "VS Code lists it with the command MCP: List Servers.",
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
    advice: () => "Zed lists it in the settings of its agent panel.",
  },
  {
    name: "chatgpt",
    title: "ChatGPT",
    advice: (target, name) => {
      const isPublic = target.kind === "http" && target.url.startsWith("https:");
      const where = isPublic ? target.url : "its https: address, after npm run deploy";
      return `ChatGPT keeps no file. In its settings, open Apps & Connectors, turn on the developer mode in the advanced settings, and create a connector:\n  Name: ${name}\n  MCP server URL: ${where}${isPublic ? "" : "\nIt calls servers from the internet, so an address on this machine does not work."}`;
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
