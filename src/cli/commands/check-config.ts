import type { Command } from "commander";
import type { CliCommand } from "../command.ts";

/** `mcp-edge check-config`: lists what is missing in a wrangler configuration. */
export const checkConfig: CliCommand = {
  name: "check-config",
  define: (command: Command) =>
    command
      .description("print what is missing in the wrangler configuration of this folder")
      .option("--config <file>", "check another file")
      .option("--env <name>", "check another environment")
      .action(async (options: { readonly config?: string; readonly env?: string }) => {
        const { checkConfig: check } = await import("../../node/check-config.ts");
        process.exitCode = await check(process.cwd(), options);
      }),
};
