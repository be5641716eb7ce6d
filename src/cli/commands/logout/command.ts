import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";

/** `mcp-edge logout`: removes the tokens for a server, and revokes them. */
export const logout: CliCommand = {
  name: "logout",
  takesServer: true,
  define: (command: Command) =>
    command
      .description("remove and revoke the tokens for a server; the next command signs in again")
      .argument("<server>", "URL or configured name of the server")
      .action(async (server: string) => {
        const { logout: run } = await import("./logout.ts");
        process.exitCode = await run(server);
      }),
};
