import { type Command, InvalidArgumentError } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions } from "../../server/options.ts";
import type { ExposeOptions } from "./options.ts";

/** `mcp-edge expose`: serves a stdio server over HTTP. */
export const expose: CliCommand = {
  name: "expose",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, ["json", "as", "env", "debug", "yes"])
      .description("serve a local stdio server over HTTP on this machine, with a token")
      .argument("<server>", "command or configured name of a server")
      .option("--port <number>", "the port; 0 chooses a free one", readPort, 0)
      .option("--no-token", "admit every program and every local web page on this machine")
      .addHelpText(
        "after",
        "\nThe token is the value of the variable MCP_EDGE_TOKEN (at least 16 characters) or, if it is not set, a new random one.",
      )
      .action(async (server: string, options: ExposeOptions) => {
        const { expose: run } = await import("./expose.ts");
        process.exitCode = await run(server, options);
      }),
};

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("Write a number from 0 to 65535.");
}
