import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { addConnectionOptions, allExcept, type ConnectionOptions, SERVER } from "../options.ts";

/** The options of `check`. */
export interface CheckOptions extends ConnectionOptions {
  /** Whether the official suite runs. */
  readonly suite: boolean;
  /** Whether npm may fetch the official suite without asking. */
  readonly fetch?: boolean;
}

/** `mcp-edge check`: tests whether a server follows the protocol. */
export const check: CliCommand = {
  name: "check",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, allExcept("as"))
      .description("check that a server follows the protocol, in every version it has")
      .argument(...SERVER)
      .option("--fetch", "let npm fetch the official conformance suite if it is not installed")
      .option("--no-suite", "only run the checks of mcp-edge")
      .action(async (server: string, options: CheckOptions) => {
        const { checkServer } = await import("../check.ts");
        process.exitCode = await checkServer(server, options);
      }),
};
