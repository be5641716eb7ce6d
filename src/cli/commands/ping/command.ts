import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, type ConnectionOptions, SERVER } from "../../server/options.ts";

/** `mcp-edge ping`: checks whether a server responds. */
export const ping: CliCommand = {
  name: "ping",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command)
      .description("connect to a server and measure how long it takes to respond")
      .argument(...SERVER)
      .action(async (server: string, options: ConnectionOptions) => {
        const { pingServer } = await import("./ping.ts");
        process.exitCode = await pingServer(server, options);
      }),
};
