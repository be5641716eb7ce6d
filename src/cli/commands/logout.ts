import type { Command } from "commander";
import type { CliCommand } from "../command.ts";

/** `mcp-edge logout`: forgets the tokens for a server. */
export const logout: CliCommand = {
  name: "logout",
  takesServer: true,
  define: (command: Command) =>
    command
      .description("forget the tokens for a server; the next command signs in again")
      .argument("<server>", "URL or configured name of a server")
      .action(async (server: string) => {
        const { logout: run } = await import("../logout.ts");
        process.exitCode = await run(server);
      }),
};
