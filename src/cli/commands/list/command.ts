import { Argument, type Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, type ConnectionOptions, SERVER } from "../../server/options.ts";

/** `mcp-edge list`: shows what a server offers. */
export const list: CliCommand = {
  name: "list",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command)
      .description("show the tools, prompts, resources and resource templates of a server")
      .argument(...SERVER)
      .addArgument(new Argument("[what]", "list only these").choices(["tools", "prompts", "resources", "templates"]))
      .action(async (server: string, what: string | undefined, options: ConnectionOptions) => {
        const { listServer } = await import("./list.ts");
        process.exitCode = await listServer(server, what, options);
      }),
};
