/**
 * A server that is started by a command: its environment variables, its log, and why it could not be started.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { ClientError, type Transport } from "../../client/index.ts";
import { pause } from "../../core/basics/pause.ts";
import { stdio } from "../../node/index.ts";
import { toEnd } from "../../node/last-output.ts";
import { CliError, Exit, usageError, withMore } from "../exit.ts";
import { isSecretName, keepSecret, redactText } from "../terminal/redact.ts";
import { oneLine, quoted, type Terminal } from "../terminal/terminal.ts";
import type { ConnectionOptions } from "./options.ts";
import type { ServerAddress } from "./server-address.ts";

type CommandAddress = Extract<ServerAddress, { kind: "stdio" }>;

/** The maximum number of characters of the log that an error shows. */
const KEPT_CHARS = 1_000;

/** How long to wait for the log of a failed call, in milliseconds. */
const LOG_MS = 500;

/** The maximum number of characters of an incomplete line of the log. */
const LINE_CHARS_MAX = 65_536;

export class ServerProcess {
  /** The transport that starts and ends the process. */
  readonly transport: Transport;
  readonly #target: CommandAddress;
  /** The end of the log. */
  #log = "";
  /** Whether the log is shown while it is written. */
  readonly #isShown: boolean;

  constructor(
    target: CommandAddress,
    { debug, env: given }: Pick<ConnectionOptions, "debug" | "env">,
    terminal: Terminal,
  ) {
    this.#target = target;
    this.#isShown = debug === true;
    for (const [name, value] of Object.entries(target.env ?? {})) if (isSecretName(name)) keepSecret(value);
    const { command, args, env, cwd } = target;
    this.transport = stdio({
      command,
      args,
      env: { ...env, ...readVariables(given) },
      ...(cwd === undefined ? {} : { cwd }),
      // The log would mix with the output of the command, so it is shown only if the server fails.
      stderr: debug
        ? byLine((line) => terminal.note(quoted(redactText(line), { linesMax: ALL_LINES })))
        : (text) => this.#keep(text),
    });
  }

  /** Returns an error that says why the process could not be started, or adds the end of its log to an error of the connection. */
  explain(error: unknown): unknown {
    const { code, syscall } = findOrigin(error);
    if (syscall?.startsWith("spawn")) return new CliError(Exit.connection, this.#whyNotStarted(code), { cause: error });
    const { log } = this;
    const isLogRelevant = ClientError.is(error) && (error.source === "transport" || error.source === "limit");
    if (!isLogRelevant || log === "" || error.message.includes(log)) return error;
    return withMore(error, logNote(log));
  }

  /** The end of the server's log; empty with `--debug`, which shows the log while it is written. */
  get log(): string {
    return this.#log.trim();
  }

  /** Returns the end of the log after a failed call. It arrives through another pipe than the result, and may be a moment later. */
  async logOfFailure(): Promise<string> {
    const untilMs = performance.now() + LOG_MS;
    while (!this.#isShown && this.log === "" && performance.now() < untilMs) await pause(10);
    return this.log;
  }

  #keep(text: string): void {
    this.#log = toEnd(this.#log + text, KEPT_CHARS);
  }

  #whyNotStarted(code: string | undefined): string {
    const { command, cwd } = this.#target;
    const name = JSON.stringify(oneLine(command, 200));
    // The operating system reports a missing folder as a missing command.
    if (cwd !== undefined && !existsSync(cwd)) return `The folder of the server, ${cwd}, does not exist.`;
    if (code === "ENOENT") return `The command ${name} was not found. Check its spelling, or write its full path.`;
    if (code === "EACCES")
      return `The command ${name} cannot be run: permission denied. Check that it is an executable file.`;
    return `The command ${name} could not be started: ${code}`;
  }
}

/** A limit that shows all lines of a log, because a log of this number of characters cannot have more lines. */
const ALL_LINES = KEPT_CHARS;

/** Returns the sentence that introduces the end of a server's log, and the log. */
export const logNote = (log: string): string => `The server's log ends with:\n${quoted(log, { linesMax: ALL_LINES })}`;

/** Returns the root cause of an error, which may be a system error such as ENOENT. */
function findOrigin(error: unknown): NodeJS.ErrnoException {
  let origin = error;
  while (origin instanceof Error && origin.cause instanceof Error) origin = origin.cause;
  return origin as NodeJS.ErrnoException;
}

/** Splits output into lines, so that no secret is divided. A line that is too long is passed on in pieces. */
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
 * Parses the values of `--env`, and registers them as secrets.
 *
 * @throws {CliError} if a value is neither `NAME=VALUE` nor `NAME`, or names a variable that is not set.
 */
export function readVariables(lines: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", given] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(line) ?? [];
      if (name === "") throw usageError("--env: write NAME=VALUE, or NAME to pass on a variable of your environment.");
      const value = given ?? process.env[name];
      if (value === undefined)
        throw usageError(`--env ${name}: this variable is not set in your environment. Write ${name}=VALUE.`);
      keepSecret(value);
      return [name, value];
    }),
  );
}
