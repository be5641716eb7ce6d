import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { addConnectionOptions, type ConnectionOptions } from "../options.ts";

/** The options of `types`. */
export interface TypesOptions extends ConnectionOptions {
  /** The file to write. */
  readonly out?: string;
}

/** `mcp-edge types`: generates types for the tools and prompts of a server. */
export const types: CliCommand = {
  name: "types",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, ["as", "header", "timeout", "debug", "browser", "device", "yes"])
      .description("generate TypeScript types for the tools and prompts of a server")
      .argument("<server>", "URL, command or configured name of a server")
      .option("-o, --out <file>", "write to a file instead of standard output")
      .action(async (server: string, options: TypesOptions) => {
        const { generateTypes } = await import("../types.ts");
        process.exitCode = await generateTypes(server, options);
      }),
};
