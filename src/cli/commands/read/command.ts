import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, type ConnectionOptions, SERVER } from "../../server/options.ts";

/** `mcp-edge read`: reads a resource. */
export const read: CliCommand = {
  name: "read",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command)
      .description("print a resource; binary contents are written unchanged to a file or another program")
      .argument(...SERVER)
      .argument("<uri>", "URI of the resource")
      .action(async (server: string, uri: string, options: ConnectionOptions) => {
        const { readResource } = await import("./read.ts");
        process.exitCode = await readResource(server, uri, options);
      }),
};
