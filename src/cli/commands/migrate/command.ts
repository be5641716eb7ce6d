import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import type { MigrateOptions } from "./options.ts";

/** `mcp-edge migrate`: rewrites a server made with another kit. */
export const migrate: CliCommand = {
  name: "migrate",
  define: (command: Command) =>
    command
      .description("rewrite a server made with McpAgent, the official SDK or mcp-handler, after showing the changes")
      .argument("[folder]", "folder of the project", ".")
      .option("--write", "write the changes without asking")
      .option("--force", "write even if git has uncommitted changes")
      .option("--no-diff", "show only the report")
      .option("-y, --yes", "fetch the package mcp-edge-migrate without asking")
      .action(async (folder: string, options: MigrateOptions) => {
        const { runMigrate } = await import("./migrate.ts");
        process.exitCode = await runMigrate(folder, options);
      }),
};
