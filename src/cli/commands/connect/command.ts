import { Argument, type Command } from "commander";
import type { CliCommand } from "../../command.ts";
import type { ConnectOptions } from "./options.ts";

/** `mcp-edge connect`: adds a server to a host. */
export const connectHost: CliCommand = {
  name: "connect",
  takesServer: true,
  define: (command: Command) =>
    command
      .description(
        "add a server to Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Zed, ChatGPT or the Inspector",
      )
      .usage("[host] [server] [options]")
      .addArgument(
        new Argument("[host]", "claude-desktop, claude-code, cursor, vscode, windsurf, zed, chatgpt, inspector"),
      )
      .argument("[server]", "URL or command of a server (default: src/stdio.ts of this project)")
      .option("--name <name>", "name of the server in the host (default: that of this project, or of the address)")
      .option("--project", "use the host's file in this project, which others share")
      .option("--print", "print the entry and change nothing")
      .option("-y, --yes", "do not ask")
      .addHelpText("after", EXAMPLES)
      .action(async (host: string | undefined, server: string | undefined, options: ConnectOptions) => {
        const { connectTo } = await import("./connect.ts");
        process.exitCode = await connectTo([host, server], options);
      }),
};

const EXAMPLES = `
Examples:
  mcp-edge connect cursor https://example.com/mcp
  mcp-edge connect claude-desktop
  mcp-edge connect vscode --project --print -- node server.js`;
