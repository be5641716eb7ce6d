/**
 * A server that is a command: its variables, its log, and why it could not be started.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { ClientError, type Transport } from "../../client/index.ts";
import { stdio } from "../../node/index.ts";
import { toEnd } from "../../node/last-output.ts";
import { CliError, Exit, usageError, withMore } from "../exit.ts";
import { isSecretName, keepSecret, redactText } from "../terminal/redact.ts";
import { oneLine, quoted, type Terminal } from "../terminal/terminal.ts";
import type { ConnectionOptions } from "./options.ts";
import type { Target } from "./server-address.ts";

type Command = Extract<Target, { kind: "stdio" }>;

/** The characters of the log that an error shows. */
const KEPT_CHARS = 1_000;

/** The characters of a line of the log that are kept until its end. */
const LINE_CHARS_MAX = 65_536;

export class ServerProcess {
  /** Starts the process, and ends it. */
  readonly transport: Transport;
  readonly #target: Command;
  /** The end of the log. */
  #log = "";

  constructor(target: Command, { debug, env: given }: Pick<ConnectionOptions, "debug" | "env">, terminal: Terminal) {
    this.#target = target;
    for (const [name, value] of Object.entries(target.env ?? {})) if (isSecretName(name)) keepSecret(value);
    const { command, args, env, cwd } = target;
    this.transport = stdio({
      command,
      args,
      env: { ...env, ...readVariables(given) },
      ...(cwd === undefined ? {} : { cwd }),
      // The log of a server would mix with the output; it is shown if the server fails.
      stderr: debug
        ? byLine((line) => terminal.note(quoted(redactText(line), { linesMax: LOG_LINES_MAX })))
        : (text) => this.#keep(text),
    });
  }

  /** Says why the process could not be started, or adds the end of its log to the error of a connection that failed. */
  explain(error: unknown): unknown {
    const { code, syscall } = findOrigin(error);
    if (syscall?.startsWith("spawn")) return new CliError(Exit.connection, this.#whyNotStarted(code), { cause: error });
    const { log } = this;
    const mayTell = ClientError.is(error) && (error.source === "transport" || error.source === "limit");
    if (!mayTell || log === "" || error.message.includes(log)) return error;
    return withMore(error, logNote(log));
  }

  /** The end of what the server has written to its log; empty with `--debug`, which shows all of it. */
  get log(): string {
    return this.#log.trim();
  }

  #keep(text: string): void {
    this.#log = toEnd(this.#log + text, KEPT_CHARS);
  }

  #whyNotStarted(code: string | undefined): string {
    const { command, cwd } = this.#target;
    const name = JSON.stringify(oneLine(command, 200));
    // The system reports a missing folder as a missing command.
    if (cwd !== undefined && !existsSync(cwd)) return `The folder of the server, ${cwd}, does not exist.`;
    if (code === "ENOENT") return `The command ${name} was not found. Check its spelling, or write its whole path.`;
    if (code === "EACCES") return `The command ${name} may not be run. Check that it is an executable file.`;
    return `The command ${name} could not be started: ${code}`;
  }
}

/** More lines than the characters of a log that are kept. */
const LOG_LINES_MAX = KEPT_CHARS;

/** What is said about the end of a server's log. */
export const logNote = (log: string): string =>
  `The server's log ends with:\n${quoted(log, { linesMax: LOG_LINES_MAX })}`;

/** Returns the system error, such as ENOENT, that is the first cause of an error. */
function findOrigin(error: unknown): NodeJS.ErrnoException {
  let origin = error;
  while (origin instanceof Error && origin.cause instanceof Error) origin = origin.cause;
  return origin as NodeJS.ErrnoException;
}

/** Passes a text on line by line, so that a secret is not divided. A line without an end is passed on in pieces. */
function byLine(print: (line: string) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LINE_CHARS_MAX) {
      lines.push(rest);
      rest = "";
    }
    for (const line of lines) print(line);
  };
}

/**
 * Reads the values of `--env`. They are not printed from then on.
 *
 * @throws {CliError} if one is not `NAME=VALUE`, or names a variable that is not set.
 */
export function readVariables(lines: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", given] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(line) ?? [];
      if (name === "") throw usageError("--env: write a variable as NAME=VALUE, or NAME to pass on your own.");
      const value = given ?? process.env[name];
      if (value === undefined)
        throw usageError(`--env ${name}: your environment has no such variable. Write ${name}=VALUE.`);
      keepSecret(value);
      return [name, value];
    }),
  );
}
