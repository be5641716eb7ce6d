import { type Command, Option } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, readCount, SERVER } from "../../server/options.ts";
import type { ListenOptions } from "./options.ts";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** `mcp-edge listen`: prints the notifications of a server. */
export const listen: CliCommand = {
  name: "listen",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command)
      .description("print log messages and changes of lists and resources, until Ctrl-C")
      .argument(...SERVER)
      .argument("[uris...]", "URIs of resources to subscribe to")
      .addOption(new Option("--level <level>", "minimum level of log messages").choices(LEVELS))
      .option("--count <number>", "exit after this many notifications", readCount)
      .action(async (server: string, uris: readonly string[], options: ListenOptions) => {
        const { listenTo } = await import("./listen.ts");
        process.exitCode = await listenTo(server, uris, options);
      }),
};
