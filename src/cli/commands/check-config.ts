import type { Command } from "commander";
import type { CliCommand } from "../command.ts";

/** `mcp-edge check-config`: lists what a wrangler configuration lacks. */
export const checkConfig: CliCommand = {
  name: "check-config",
  define: (command: Command) =>
    command
      .description("print what the wrangler configuration of this folder lacks")
      .option("--config <file>", "use another file")
      .option("--env <name>", "use another environment")
      .action(async (options: { readonly config?: string; readonly env?: string }) => {
        const { checkConfig: check } = await import("../../node/check-config.ts");
        process.exitCode = await check(process.cwd(), options);
      }),
};
