import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, allExcept, SERVER } from "../../server/options.ts";
import type { CheckOptions } from "./options.ts";

/** `mcp-edge check`: tests whether a server follows the protocol. */
export const check: CliCommand = {
  name: "check",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, allExcept("as"))
      .description("check that a server follows the protocol, in every version that it supports")
      .argument(...SERVER)
      .option("--fetch", "let npm fetch the official conformance suite if it is not installed")
      .option("--no-suite", "only run the checks of mcp-edge")
      .action(async (server: string, options: CheckOptions) => {
        const { checkServer } = await import("./check.ts");
        process.exitCode = await checkServer(server, options);
      }),
};
