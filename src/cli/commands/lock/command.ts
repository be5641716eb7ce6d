import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { addConnectionOptions, allExcept, SERVER } from "../../server/options.ts";
import { LOCK_FILE, type LockCommandOptions } from "./options.ts";

/** `mcp-edge lock`: writes the contract of a server to a file. */
export const lock: CliCommand = {
  name: "lock",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, allExcept("json"))
      .description("write what callers rely on to a lock file, for mcp-edge check --lock")
      .argument(...SERVER)
      .option("-o, --out <file>", "file to write", LOCK_FILE)
      .option("--update", "accept the changes of the server: replace a file that differs")
      .action(async (server: string, options: LockCommandOptions) => {
        const { lockServer } = await import("./lock.ts");
        process.exitCode = await lockServer(server, options);
      }),
};
