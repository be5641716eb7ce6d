import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions } from "../../server/options.ts";
import type { ServersOptions } from "./options.ts";

/** `mcp-edge servers`: what hosts have configured. */
export const servers: CliCommand = {
  name: "servers",
  define: (command: Command) =>
    addConnectionOptions(command, ["json", "timeout"])
      .description(
        "show the servers that Claude Desktop, Claude Code, Cursor, VS Code, Windsurf and Zed have, and try them",
      )
      .option("--no-try", "do not connect to them")
      .option("-y, --yes", "try servers from files of this project without asking")
      .action(async (options: ServersOptions) => {
        const { showServers } = await import("./servers.ts");
        process.exitCode = await showServers(options);
      }),
};
