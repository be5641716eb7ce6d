import type { Command } from "commander";
import { type CliCommand, helpFor, refuseOption } from "../../command.ts";
import { addConnectionOptions, allExcept } from "../../server/options.ts";
import type { CallCommandOptions } from "./options.ts";

/** `mcp-edge call`: calls a tool. */
export const call: CliCommand = {
  name: "call",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, allExcept("yes"))
      .description("call a tool; pass its arguments as options")
      .usage("<server> <tool> [--argument value ...] [options]")
      .argument("[server]", "URL, command or configured name of the server")
      .argument("[tool]", "name of the tool")
      .argument(
        "[arguments...]",
        "arguments of the tool, such as --city Berlin; - reads them as JSON from standard input",
      )
      .option("--json-args <json>", "arguments as a JSON object")
      .option(
        "-y, --yes",
        "do not ask before calling a tool that may delete or overwrite data, or using a server from a file of this project",
      )
      .option("--task", "run the call in the background, and print the id of its task for mcp-edge tasks")
      .option("-h, --help", "show this help, or the help of the tool")
      .helpOption(false)
      .allowUnknownOption()
      .addHelpText("after", EXAMPLES)
      .action(async (server?: string, tool?: string, rest: readonly string[] = []) => {
        const options = command.opts<CallCommandOptions>();
        if (server === undefined || (options.help && tool === undefined)) return helpFor(command, options);
        refuseOption(command, server);
        const { callTool } = await import("./call.ts");
        process.exitCode = await callTool(server, tool, rest, options);
      }),
};

const EXAMPLES = `
Examples:
  mcp-edge call https://example.com/mcp add --a 1 --b 2
  mcp-edge call https://example.com/mcp add --help
  mcp-edge call "node server.js" add --json-args '{"a": 1, "b": 2}'
  mcp-edge call add --a 1 --b 2 -- node server.js`;
