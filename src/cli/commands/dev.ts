import type { Command } from "commander";
import type { CliCommand } from "../command.ts";

/** `mcp-edge dev`. Its arguments are passed to wrangler, so `main.ts` starts it before they are parsed. */
export const dev: CliCommand = {
  name: "dev",
  define: (command: Command) =>
    command
      .description(
        "run wrangler dev, print the endpoint's URL, and record each call; accepts the options of wrangler dev",
      )
      .usage("[--path /mcp] [--contents] [--verbose] [--faults] [--no-record] [options of wrangler dev]"),
};

/** Runs the command and returns its exit code. */
export async function runDev(args: readonly string[]): Promise<number> {
  const { dev: run } = await import("../../node/dev.ts");
  return run(args);
}
