import type { Command } from "commander";
import { usageError } from "./exit.ts";
import { didYouMean } from "./names.ts";

/**
 * A command of the program. Each has its own folder or file in `commands/`, and is listed in `program.ts`. This object only declares
 * the command. Its action imports the code that does the work, so that `--help` stays fast.
 */
export interface CliCommand {
  /** The name on the command line. */
  readonly name: string;
  /** Whether the command line may end with `-- command`, which starts the server. */
  readonly takesServer?: boolean;
  /** Rewrites the words of the command line before commander parses them. */
  prepare?(words: readonly string[]): readonly string[];
  /** Adds the description, arguments, options and action. The action sets `process.exitCode`. */
  define(command: Command): unknown;
}

/** The command that shells call for completions: `mcp-edge __complete list htt` prints the words that can complete `htt`. */
export const COMPLETE = "__complete";

/**
 * Refuses an unknown option in place of the server. Commands whose options may belong to a tool call this themselves, because
 * commander lets unknown options through.
 *
 * @throws {CliError} if the word is an option.
 */
export function refuseOption(command: Command, word: string): void {
  if (!word.startsWith("-")) return;
  const [name = ""] = word.split("=");
  const known = command.options.flatMap(({ long }) => (long ? [long] : []));
  throw usageError(
    `There is no option ${JSON.stringify(name)}.${didYouMean(name, known)} List all: mcp-edge ${command.name()} --help`,
  );
}

/** Shows the help of a command. Fails unless the user asked for it. */
export function helpFor(command: Command, { help }: { readonly help?: boolean }): void {
  if (!help) command.help({ error: true });
  command.outputHelp();
}
