import type { Command } from "commander";
import { usageError } from "./exit.ts";
import { didYouMean } from "./names.ts";

/**
 * A command of the program. Each has a folder or file of its own in `commands/`, and is listed in `program.ts`. It only describes the
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

/**
 * Refuses an option that a command does not have. Commands whose further words may be options of a tool have to ask themselves.
 *
 * @throws {CliError} if the word in the place of the server is an option.
 */
export function refuseOption(command: Command, word: string): void {
  if (!word.startsWith("-")) return;
  const [name = ""] = word.split("=");
  const known = command.options.flatMap(({ long }) => (long ? [long] : []));
  throw usageError(
    `There is no option ${JSON.stringify(name)}.${didYouMean(name, known)} All: mcp-edge ${command.name()} --help`,
  );
}

/** Shows the help of a command, and fails unless it was asked for. */
export function helpFor(command: Command, { help }: { readonly help?: boolean }): void {
  if (!help) command.help({ error: true });
  command.outputHelp();
}
