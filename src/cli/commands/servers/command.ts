import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions } from "../../server/options.ts";
import type { ServersOptions } from "./options.ts";

/** `mcp-edge servers`: lists the servers that are configured in hosts. */
export const servers: CliCommand = {
  name: "servers",
  define: (command: Command) =>
    addConnectionOptions(command, ["json", "timeout"])
      .description(
        "list the servers configured in Claude Desktop, Claude Code, Cursor, VS Code, Windsurf and Zed, and try each",
      )
      .option("--no-try", "do not connect to the servers")
      .option("-y, --yes", "try servers from files of this project without asking")
      .action(async (options: ServersOptions) => {
        const { showServers } = await import("./servers.ts");
        process.exitCode = await showServers(options);
      }),
};
