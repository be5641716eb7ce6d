import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import type { McpbOptions } from "./options.ts";

/** `mcp-edge mcpb`: packs a project for desktop hosts. */
export const mcpb: CliCommand = {
  name: "mcpb",
  define: (command: Command) =>
    command
      .description("pack the stdio server of this project as an .mcpb file, which desktop hosts can install")
      .option("--entry <file>", "file that calls serveStdio()", "src/stdio.ts")
      .option("-o, --out <file>", "file to write (default: named after the project and its version)")
      .action(async (options: McpbOptions) => {
        const { packMcpb } = await import("./mcpb.ts");
        process.exitCode = await packMcpb(options);
      }),
};
