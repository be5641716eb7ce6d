/**
 * The options shared by the commands that connect to a server.
 *
 * @module
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { SPOKEN_VERSIONS } from "../../core/protocol/spoken-versions.ts";

/** The options, as commander parses them. */
export interface ConnectionOptions {
  /** The protocol version to use. */
  readonly as?: string;
  /** Headers, each as `Name: value`. */
  readonly header?: readonly string[];
  /** Environment variables for the server process, each as `NAME=VALUE` or `NAME`. */
  readonly env?: readonly string[];
  /** Whether every message is logged to standard error. */
  readonly debug?: boolean;
  /** The time limit of each request, in milliseconds. */
  readonly timeout?: number;
  /** If false, the URL for signing in is only printed, not opened. */
  readonly browser?: boolean;
  /** Whether the user signs in on another device by entering a code. */
  readonly device?: boolean;
  /** Whether to print JSON. */
  readonly json?: boolean;
  /** Whether to use a server from a file of the project without asking. */
  readonly yes?: boolean;
}

const VERSIONS = SPOKEN_VERSIONS.map(({ version }) => version);

const ALL = ["json", "as", "header", "env", "timeout", "debug", "browser", "device", "yes"] as const;

/** The name of one of the options. */
export type OptionName = (typeof ALL)[number];

/** The argument that names a server, with its description. */
export const SERVER = ["<server>", "URL, command or configured name of the server"] as const;

/** Returns the names of all options except the given ones. */
export function allExcept(...names: readonly OptionName[]): readonly OptionName[] {
  return ALL.filter((name) => !names.includes(name));
}

/** Returns the option `--as`. */
export function versionOption(description = "use this protocol version"): Option {
  return new Option("--as <version>", description).choices(VERSIONS);
}

/** Adds options of {@link ConnectionOptions} to a command: by default all of them. */
export function addConnectionOptions(command: Command, names: readonly OptionName[] = ALL): Command {
  const options = {
    json: new Option("--json", "print JSON"),
    as: versionOption(),
    header: new Option(
      "--header <header>",
      'send a header, such as "Authorization: Bearer ..." (repeatable)',
    ).argParser(append),
    env: new Option(
      "--env <variable>",
      "set an environment variable for a server started by a command: NAME=VALUE, or NAME to pass on yours (repeatable)",
    ).argParser(append),
    timeout: new Option("--timeout <time>", "time limit of each request, such as 30s or 2m").argParser(readDuration),
    debug: new Option("--debug", "log every message to standard error, with secrets redacted"),
    browser: new Option("--no-browser", "print the sign-in URL without opening a browser"),
    device: new Option("--device", "sign in on another device by entering a code"),
    yes: new Option("-y, --yes", "use a server from a file of this project without asking"),
  };
  for (const name of names) command.addOption(options[name]);
  return command;
}

/** Collects the values of a repeatable option. */
export function append(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const LONGEST_MS = 2 ** 31 - 1;

/** Parses a duration such as `500ms`, `30s`, `2m` or `1h`; a number without a unit means seconds. Returns milliseconds. */
export function readDuration(text: string): number {
  const [, amount = "", unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Math.round(Number(amount) * (UNITS[unit] ?? 0));
  if (amount !== "" && ms >= 1 && ms <= LONGEST_MS) return ms;
  throw new InvalidArgumentError("Write a time such as 500ms, 30s, 2m or 1h.");
}

/** Parses a positive integer. */
export function readCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("Write an integer of at least 1.");
}
