import type { Command } from "commander";
import { type CliCommand, helpFor, refuseOption } from "../../command.ts";
import { addConnectionOptions } from "../../server/options.ts";
import type { PromptCommandOptions } from "./options.ts";

/** `mcp-edge prompt`: gets a prompt. */
export const prompt: CliCommand = {
  name: "prompt",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command)
      .description("print a prompt; pass its arguments as options")
      .usage("<server> <prompt> [--argument value ...] [options]")
      .argument("[server]", "URL, command or configured name of the server")
      .argument("[prompt]", "name of the prompt")
      .argument(
        "[arguments...]",
        "arguments of the prompt, such as --language pt; - reads them as JSON from standard input",
      )
      .option("--json-args <json>", "arguments as a JSON object")
      .option("-h, --help", "show this help, or the help of the prompt")
      .helpOption(false)
      .allowUnknownOption()
      .action(async (server?: string, name?: string, rest: readonly string[] = []) => {
        const options = command.opts<PromptCommandOptions>();
        if (server === undefined || (options.help && name === undefined)) return helpFor(command, options);
        refuseOption(command, server);
        const { getPrompt } = await import("./prompt.ts");
        process.exitCode = await getPrompt(server, name, rest, options);
      }),
};
