import type { Command } from "commander";
import type { CliCommand } from "../../command.ts";
import { usageError } from "../../exit.ts";
import { addConnectionOptions, allExcept, SERVER, versionOption } from "../../server/options.ts";
import { LOCK_FILE } from "../lock/options.ts";
import type { CheckOptions } from "./options.ts";

/** `mcp-edge check`: tests whether a server follows the protocol. */
export const check: CliCommand = {
  name: "check",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, allExcept("as"))
      .description("check that a server follows the protocol, in every version that it supports")
      .argument(...SERVER)
      .option("--fetch", "let npm fetch the official conformance suite if it is not installed")
      .option("--no-suite", "only run the checks of mcp-edge")
      .option("--lock [file]", `only compare the server with a lock file of mcp-edge lock (default: ${LOCK_FILE})`)
      .option("--strict", "with --lock: fail if anything has changed, not only if it breaks callers")
      .addOption(versionOption("with --lock: use this protocol version"))
      .action(async (server: string, options: CheckOptions) => {
        if (options.lock !== undefined) {
          if (!options.suite || options.fetch)
            throw usageError("--no-suite and --fetch are not for --lock, which only compares the server with a file.");
          const { checkLock } = await import("../lock/check-lock.ts");
          process.exitCode = await checkLock(server, options.lock === true ? LOCK_FILE : options.lock, options);
          return;
        }
        if (options.strict) throw usageError("--strict is only for --lock.");
        if (options.as !== undefined)
          throw usageError("--as is only for --lock. Without --lock, every version of the server is checked.");
        const { checkServer } = await import("./check.ts");
        process.exitCode = await checkServer(server, options);
      }),
};
