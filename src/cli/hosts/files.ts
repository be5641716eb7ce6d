/**
 * The paths of the hosts' configuration files, on each operating system.
 *
 * @module
 */
import { posix, win32 } from "node:path";

/** The properties of the process that determine the paths. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** A configuration file of a host. */
export interface HostFile {
  /** The name of the host on the command line, such as `claude-desktop`. */
  readonly host: string;
  /** The human-readable name of the host. */
  readonly title: string;
  readonly path: string;
  /** A file of the project is untrusted, so its servers are used only with the user's consent. */
  readonly scope: "user" | "project";
  /** The name of the member that contains the servers. */
  readonly member: string;
}

/** Returns the configuration files of all known hosts, whether or not they exist. */
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
