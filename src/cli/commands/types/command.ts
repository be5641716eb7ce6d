import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, allExcept, SERVER } from "../../server/options.ts";
import type { TypesOptions } from "./options.ts";

/** `mcp-edge types`: generates types for the tools and prompts of a server. */
export const types: CliCommand = {
  name: "types",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, allExcept("json"))
      .description("generate TypeScript types for the tools and prompts of a server")
      .argument(...SERVER)
      .option("-o, --out <file>", "write to a file instead of standard output")
      .action(async (server: string, options: TypesOptions) => {
        const { generateTypes } = await import("./types.ts");
        process.exitCode = await generateTypes(server, options);
      }),
};
