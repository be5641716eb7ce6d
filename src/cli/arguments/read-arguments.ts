/**
 * Reads the arguments of a tool or prompt from the command line.
 *
 * @module
 */
import { CommanderError } from "commander";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { usageError } from "../exit.ts";
import type { ConnectionOptions } from "../server/options.ts";
import { clean, oneLine, type Terminal } from "../terminal/terminal.ts";
import { type Argument, commandFor, createFlag, readJsonArguments, readValues } from "./arguments.ts";

/** The options of `call` and `prompt` themselves. An argument with one of these names is written with the prefix `arg-`. */
export const OWN = ["json", "as", "header", "env", "timeout", "debug", "device", "json-args", "yes", "task", "help"];

/** The command line of `call` or `prompt`. */
export interface GivenArguments {
  /** The command with the name of the tool or prompt, such as `call <server> add`. */
  readonly command: string;
  /** The arguments that the tool or prompt declares. */
  readonly known: readonly Argument[];
  /** The words of the command line that are not options of mcp-edge. */
  readonly rest: readonly string[];
  readonly options: ConnectionOptions & { readonly jsonArgs?: string };
}

/**
 * Merges the arguments from standard input, from `--json-args` and from options. Each source overrides those before it.
 *
 * @throws {CliError} naming what is wrong or missing.
 */
export async function readArguments(given: GivenArguments, terminal: Terminal): Promise<JsonObject> {
  const { known, rest, options } = given;
  const parser = commandFor(`mcp-edge ${given.command}`, known, OWN);
  try {
    parser.parse([...rest], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw usageError(`${clean(error.message.replace(/^error: /, ""))}\n${describeHelp(given.command)}`);
  }
  const [source] = parser.args;
  if (source !== undefined && source !== "-") {
    throw usageError(`${JSON.stringify(source)} is not an option. Write arguments as --name value.`);
  }
  const piped = source === "-" ? readJsonArguments(await readInput(), "standard input") : {};
  const json = options.jsonArgs === undefined ? {} : readJsonArguments(options.jsonArgs, "--json-args");
  const values = { ...piped, ...json, ...readValues(known, parser.opts(), OWN) };
  const missing = known.filter(({ name, isRequired }) => isRequired && !Object.hasOwn(values, name));
  for (const { name } of known) {
    if (!isUsed(name, options) || Object.hasOwn(values, name)) continue;
    terminal.note(`Note: --${name} is an option of mcp-edge. The argument is --${createFlag(name, OWN)}.`);
  }
  if (missing.length === 0) return values;
  const list = missing.map(({ name }) => `--${createFlag(name, OWN)}`).join(", ");
  throw usageError(`Missing: ${oneLine(list, MISSING_CHARS_MAX)}. ${describeHelp(given.command)}`);
}

/** The maximum number of characters of the names of missing arguments. The server chooses the names. */
const MISSING_CHARS_MAX = 1_000;

/** Prints the arguments as the `--help` of the tool or prompt. */
export function showArguments(
  command: string,
  known: readonly Argument[],
  description: string | undefined,
  terminal: Terminal,
): void {
  const parser = commandFor(`mcp-edge ${command}`, known, OWN);
  if (description !== undefined) parser.description(description);
  const [name] = command.split(" ");
  terminal.print(clean(parser.helpInformation()).trimEnd());
  terminal.print(`\nThe options of mcp-edge ${name} work as well: mcp-edge ${name} --help`);
}

/** The maximum number of characters of a command with the name of a tool or prompt. */
const COMMAND_CHARS_MAX = 200;

function describeHelp(command: string): string {
  return `To list the arguments, run: mcp-edge ${oneLine(command, COMMAND_CHARS_MAX)} --help`;
}

/** Whether an option of mcp-edge was given that has the same name as an argument. */
function isUsed(name: string, options: object): boolean {
  const value = OWN.includes(name) ? (options as Record<string, unknown>)[name] : undefined;
  return value !== undefined && !(Array.isArray(value) && value.length === 0);
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
