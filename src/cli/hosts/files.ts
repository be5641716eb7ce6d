/**
 * Where hosts keep the servers that they start, on each operating system.
 *
 * @module
 */
import { posix, win32 } from "node:path";

/** The surroundings that determine the paths. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** A file in which a host may have servers. */
export interface HostFile {
  /** The name of the host on the command line, such as `claude-desktop`. */
  readonly host: string;
  /** The name of the host, for people. */
  readonly title: string;
  readonly path: string;
  /** A file of the project may come from a stranger, so its programs are not started without being asked for. */
  readonly scope: "user" | "project";
  /** The member that holds the servers, by name. */
  readonly member: string;
}

/** Returns the files of all hosts that are known, whether they exist or not. */
export function hostFiles({ platform, home, env, cwd }: Surroundings): HostFile[] {
  const { join } = platform === "win32" ? win32 : posix;
  const roaming = env.APPDATA ?? join(home, "AppData", "Roaming");
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  const applications =
    platform === "darwin" ? join(home, "Library", "Application Support") : platform === "win32" ? roaming : config;
  const zed = platform === "win32" ? join(roaming, "Zed") : join(config, "zed");
  const user = (host: string, title: string, member: string, ...path: string[]): HostFile => {
    return { host, title, member, path: join(...(path as [string])), scope: "user" };
  };
  const project = (host: string, title: string, member: string, ...path: string[]): HostFile => {
    return { host, title, member, path: join(cwd, ...path), scope: "project" };
  };
  return [
    user("claude-desktop", "Claude Desktop", "mcpServers", applications, "Claude", "claude_desktop_config.json"),
    user("claude-code", "Claude Code", "mcpServers", env.CLAUDE_CONFIG_DIR ?? home, ".claude.json"),
    project("claude-code", "Claude Code", "mcpServers", ".mcp.json"),
    user("cursor", "Cursor", "mcpServers", home, ".cursor", "mcp.json"),
    project("cursor", "Cursor", "mcpServers", ".cursor", "mcp.json"),
    user("vscode", "VS Code", "servers", applications, "Code", "User", "mcp.json"),
    project("vscode", "VS Code", "servers", ".vscode", "mcp.json"),
    user("windsurf", "Windsurf", "mcpServers", home, ".codeium", "windsurf", "mcp_config.json"),
    user("zed", "Zed", "context_servers", zed, "settings.json"),
    project("zed", "Zed", "context_servers", ".zed", "settings.json"),
  ];
}
