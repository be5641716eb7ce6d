import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, allExcept, SERVER } from "../../server/options.ts";
import type { ServerJsonOptions } from "./options.ts";

/** `mcp-edge server-json`: writes or checks the file for the MCP registry. */
export const serverJson: CliCommand = {
  name: "server-json",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, allExcept("json", "as"))
      .description("write server.json for the MCP registry from a running server, or check it against the server")
      .argument(...SERVER)
      .option("--name <name>", "name in the registry, such as io.github.ada/weather")
      .option("--url <url>", "public URL of the server (default: the given URL, if it is public)")
      .option("-o, --out <file>", "file to write or to check", "server.json")
      .option("--check", "only compare the file with the server")
      .option("--print", "print the file instead of writing it")
      .action(async (server: string, options: ServerJsonOptions) => {
        const { describeServer } = await import("./server-json.ts");
        process.exitCode = await describeServer(server, options);
      }),
};
