import type { Command } from "commander";

/**
 * A command of the program. Each is a file of its own in `commands/`, listed in `program.ts`. The file only describes the
 * command; its action imports what it needs, so that `--help` stays fast.
 */
export interface CliCommand {
  /** The name on the command line. */
  readonly name: string;
  /** Whether the command line may end with `-- command`, the command of a server. */
  readonly takesServer?: boolean;
  /** Changes the words of the command line before options are looked for in them. */
  prepare?(words: readonly string[]): readonly string[];
  /** Adds description, arguments, options and the action. The action sets `process.exitCode`. */
  define(command: Command): unknown;
}

/** The word that asks for completions: `mcp-edge __complete list htt` prints what `list htt` may become. */
export const COMPLETE = "__complete";

/** Shows the help of a command, and fails unless it was asked for. */
export function helpFor(command: Command, { help }: { readonly help?: boolean }): void {
  if (!help) command.help({ error: true });
  command.outputHelp();
}
