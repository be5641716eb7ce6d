import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, append, SERVER } from "../../server/options.ts";
import type { CompleteCommandOptions } from "./options.ts";

/** `mcp-edge complete`: prints the values that a server suggests for an argument. */
export const complete: CliCommand = {
  name: "complete",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command)
      .description("print the values that a server suggests for an argument")
      .argument(...SERVER)
      .argument("<what>", "name of a prompt, or a URI template")
      .argument("<argument>", "name of the argument")
      .argument("[value]", "the beginning of the value", "")
      .option("--context <name=value>", "the value of another argument (repeatable)", append)
      .action(
        async (server: string, what: string, argument: string, value: string, options: CompleteCommandOptions) => {
          const { completeArgument } = await import("./complete.ts");
          process.exitCode = await completeArgument(server, what, argument, value, options);
        },
      ),
};
