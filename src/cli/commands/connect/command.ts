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
      .argument("[server]", "URL or command of the server (default: src/stdio.ts of this project)")
      .option(
        "--name <name>",
        "name of the server in the host (default: the name of this project, or the host name of the URL)",
      )
      .option("--project", "change the host's file in this project, which is shared with others")
      .option("--print", "only print the entry")
      .option("-y, --yes", "change the file without asking")
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
