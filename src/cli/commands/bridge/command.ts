import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, allExcept, type ConnectionOptions, SERVER } from "../../server/options.ts";

/** `mcp-edge bridge`: a stdio server that forwards to a remote server. */
export const bridge: CliCommand = {
  name: "bridge",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, allExcept("json", "timeout"))
      .description("serve a remote server over stdio, for hosts that can only start local servers")
      .argument(...SERVER)
      .addHelpText(
        "after",
        `
In the configuration of a host:
  { "mcpServers": { "example": { "command": "npx", "args": ["mcp-edge", "bridge", "https://example.com/mcp"] } } }`,
      )
      .action(async (server: string, options: ConnectionOptions) => {
        const { bridge: run } = await import("./bridge.ts");
        process.exitCode = await run(server, options);
      }),
};
