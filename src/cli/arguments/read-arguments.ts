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

/** The options of `call` and `prompt` themselves. An argument of the same name is written with the prefix `arg-`. */
export const OWN = ["json", "as", "header", "env", "timeout", "debug", "device", "json-args", "yes", "task", "help"];

/** The arguments as they were given on the command line. */
export interface Given {
  /** The command with the name of the tool or prompt, such as `call <server> add`. */
  readonly of: string;
  readonly known: readonly Argument[];
  /** The words of the command line that are not options of the program. */
  readonly rest: readonly string[];
  readonly options: ConnectionOptions & { readonly jsonArgs?: string };
}

/**
 * Joins the arguments from standard input, `--json-args` and options; the later ones win.
 *
 * @throws {CliError} naming what is wrong or missing.
 */
export async function readArguments(given: Given, terminal: Terminal): Promise<JsonObject> {
  const { of, known, rest, options } = given;
  const command = commandFor(`mcp-edge ${of}`, known, OWN);
  try {
    command.parse([...rest], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw usageError(`${clean(error.message.replace(/^error: /, ""))}\n${hintAt(of)}`);
  }
  const [source] = command.args;
  if (source !== undefined && source !== "-") {
    throw usageError(`${JSON.stringify(source)} is not an option. Write arguments as --name value.`);
  }
  const piped = source === "-" ? readJsonArguments(await readInput(), "standard input") : {};
  const json = options.jsonArgs === undefined ? {} : readJsonArguments(options.jsonArgs, "--json-args");
  const values = { ...piped, ...json, ...readValues(known, command.opts(), OWN) };
  const missing = known.filter(({ name, isRequired }) => isRequired && !Object.hasOwn(values, name));
  for (const { name } of known) {
    if (!isUsed(name, options) || Object.hasOwn(values, name)) continue;
    terminal.note(`Note: --${name} is an option of mcp-edge. The argument is --${createFlag(name, OWN)}.`);
  }
  if (missing.length === 0) return values;
  const list = missing.map(({ name }) => `--${createFlag(name, OWN)}`).join(", ");
  throw usageError(`Missing: ${oneLine(list, MISSING_CHARS_MAX)}. ${hintAt(of)}`);
}

/** The maximum number of characters of the names of missing arguments, which a server chooses. */
const MISSING_CHARS_MAX = 1_000;

/** Prints the arguments as `--help` of the tool or prompt. */
export function showArguments(
  of: string,
  known: readonly Argument[],
  description: string | undefined,
  terminal: Terminal,
): void {
  const command = commandFor(`mcp-edge ${of}`, known, OWN);
  if (description !== undefined) command.description(description);
  const [name] = of.split(" ");
  terminal.print(clean(command.helpInformation()).trimEnd());
  terminal.print(`\nThe options of mcp-edge ${name} work as well: mcp-edge ${name} --help`);
}

/** The maximum number of characters of a command with the name of a tool or prompt. */
const OF_CHARS_MAX = 200;

function hintAt(of: string): string {
  return `The arguments are shown by: mcp-edge ${oneLine(of, OF_CHARS_MAX)} --help`;
}

/** Whether an option of the program was given that has the name of an argument. */
function isUsed(name: string, options: object): boolean {
  const value = OWN.includes(name) ? (options as Record<string, unknown>)[name] : undefined;
  return value !== undefined && !(Array.isArray(value) && value.length === 0);
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
