import { type Command, InvalidArgumentError } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, SERVER } from "../../server/options.ts";
import type { RecordOptions } from "./options.ts";

/** `mcp-edge record`: records the messages between clients and any server. */
export const record: CliCommand = {
  name: "record",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, ["header", "env", "yes"])
      .description("record what passes between clients and any server, and show it on a page")
      .argument(...SERVER)
      .option("--port <number>", "the port; 0 is any free one", readPort, 0)
      .option("--contents", "record arguments and results as they are, and not only their shape")
      .option("--out <file>", "write the recording to this file at the end")
      .addHelpText(
        "after",
        `
Clients use the URL that is printed in place of the server's. For a server that is a command, a host starts this:
  { "mcpServers": { "example": { "command": "npx", "args": ["mcp-edge", "record", "--", "node", "server.js"] } } }
Tokens and other secrets are never recorded.`,
      )
      .action(async (server: string, options: RecordOptions) => {
        const { record: run } = await import("./record.ts");
        process.exitCode = await run(server, options);
      }),
};

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("Write a number from 0 to 65535.");
}
