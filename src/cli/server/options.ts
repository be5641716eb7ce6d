/**
 * The options that the commands share which talk to a server.
 *
 * @module
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { SPOKEN_VERSIONS } from "../../core/protocol/spoken-versions.ts";

/** The options, as commander reads them. */
export interface ConnectionOptions {
  /** The protocol version to use. */
  readonly as?: string;
  /** Headers, each as `Name: value`. */
  readonly header?: readonly string[];
  /** Variables for the process of a server, each as `NAME=VALUE` or `NAME`. */
  readonly env?: readonly string[];
  /** Whether every message is logged to standard error. */
  readonly debug?: boolean;
  /** The limit of each request, in milliseconds. */
  readonly timeout?: number;
  /** False: the page for a sign-in is only printed. */
  readonly browser?: boolean;
  /** Whether the user signs in on another device, with a code. */
  readonly device?: boolean;
  /** Whether the output is JSON. */
  readonly json?: boolean;
  /** Whether a server that a file of the project configures is started without asking. */
  readonly yes?: boolean;
}

const VERSIONS = SPOKEN_VERSIONS.map(({ version }) => version);

const ALL = ["json", "as", "header", "env", "timeout", "debug", "browser", "device", "yes"] as const;

/** The name of one of the options. */
export type OptionName = (typeof ALL)[number];

/** The argument that names a server, with its description. */
export const SERVER = ["<server>", "URL, command or configured name of a server"] as const;

/** The names of all options but these. */
export function allExcept(...names: readonly OptionName[]): readonly OptionName[] {
  return ALL.filter((name) => !names.includes(name));
}

/** Adds options of {@link ConnectionOptions} to a command: all of them, or those that are named. */
export function addConnectionOptions(command: Command, names: readonly OptionName[] = ALL): Command {
  const options = {
    json: new Option("--json", "print JSON"),
    as: new Option("--as <version>", "use this protocol version").choices(VERSIONS),
    header: new Option(
      "--header <header>",
      'send a header, such as "Authorization: Bearer ..." (repeatable)',
    ).argParser(append),
    env: new Option(
      "--env <variable>",
      "set a variable for a server that is a command, as NAME=VALUE, or NAME to pass on yours (repeatable)",
    ).argParser(append),
    timeout: new Option("--timeout <time>", "end each request after this time, such as 30s or 2m").argParser(
      readDuration,
    ),
    debug: new Option("--debug", "log every message to standard error, without secrets"),
    browser: new Option("--no-browser", "only print the address of the page to sign in"),
    device: new Option("--device", "sign in on another device, with a code"),
    yes: new Option("-y, --yes", "do not ask before using a server from a file of this project"),
  };
  for (const name of names) command.addOption(options[name]);
  return command;
}

/** Collects the values of an option that may be repeated. */
export function append(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const LONGEST_MS = 2 ** 31 - 1;

/** Reads a time such as `500ms`, `30s`, `2m` or `1h`; a number alone is seconds. Returns milliseconds. */
export function readDuration(text: string): number {
  const [, amount = "", unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Math.round(Number(amount) * (UNITS[unit] ?? 0));
  if (amount !== "" && ms >= 1 && ms <= LONGEST_MS) return ms;
  throw new InvalidArgumentError("Write a time such as 500ms, 30s, 2m or 1h.");
}

/** Reads a number of things, at least one. */
export function readCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("Write a number of at least 1.");
}
