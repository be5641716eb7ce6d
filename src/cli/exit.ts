/**
 * Exit codes, and how errors are shown in the terminal.
 *
 * @module
 */
import { ClientError } from "../client/basics/errors.ts";
import { KitError, McpError } from "../core/protocol/errors.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { clean, oneLine, quoted, toJson } from "./terminal/terminal.ts";

/** The exit codes of every command that talks to a server. They are documented in docs/guides/command-line.md. */
export const Exit = {
  ok: 0,
  /** The tool ran and reported an error. */
  toolError: 1,
  /** The command line is wrong, or a confirmation is missing. */
  usage: 2,
  /** The server returned an error, or a message that violates the protocol. */
  serverError: 3,
  /** The server cannot be reached, or refused the connection, or the connection broke. */
  connection: 4,
  /** A time limit expired, the user refused, or a task was cancelled. */
  cancelled: 5,
  /** `call --task`: the tool has run, but not as a task. */
  noTask: 6,
  /** `check --lock`: the server differs from the lock file in a way that breaks callers. With `--strict`: in any way. */
  contractChanged: 7,
} as const;

/** An error with its exit code. Its message is shown unchanged. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  /** The members that `--json` prints in addition to the message. */
  readonly facts: JsonObject;

  constructor(exitCode: number, message: string, { facts = {}, ...options }: CliErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.facts = facts;
  }
}

interface CliErrorOptions extends ErrorOptions {
  readonly facts?: JsonObject;
}

/** Returns an error with a line added to its message, and facts for `--json`. */
export function withMore(
  error: unknown,
  line: string,
  facts: JsonObject = {},
  exitCode = getExitCode(error),
): CliError {
  return new CliError(exitCode, `${formatError(error)}\n${line}`, { cause: error, facts });
}

/** Creates the error for a wrong command line. */
export function usageError(message: string): CliError {
  return new CliError(Exit.usage, message);
}

/** The reason for an abort by a signal such as Ctrl-C. */
export class InterruptedError extends CliError {
  /** @param number The number of the signal, such as 2 for SIGINT. */
  constructor(number: number) {
    super(128 + number, "interrupted");
  }
}

const CODES = { server: Exit.serverError, transport: Exit.connection, limit: Exit.cancelled, use: Exit.serverError };

/** Returns the exit code for an error. */
export function getExitCode(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  if (McpError.is(error)) return Exit.serverError;
  if (ClientError.is(error)) {
    // The handlers of questions belong to this program, so their own errors are more specific.
    if (error.code === "question-failed" && error.cause instanceof CliError) return error.cause.exitCode;
    return CODES[error.source];
  }
  if (error instanceof Error && error.name === "TaskError") return Exit.cancelled;
  return KitError.is(error) && error.code === "options-invalid" ? Exit.usage : Exit.serverError;
}

/** Returns what `--json` prints for an error. */
export function toErrorJson(error: unknown): JsonObject {
  const origin = error instanceof CliError ? error.cause : error;
  const facts = error instanceof CliError ? error.facts : {};
  const code = McpError.is(origin) || ClientError.is(origin) ? { code: origin.code } : {};
  return { error: { message: formatError(error), exitCode: getExitCode(error), ...code, ...facts } };
}

/** The maximum number of characters shown of a server's error message. */
const MESSAGE_CHARS_MAX = 2_000;

/** Returns the message to show for an error. */
export function formatError(error: unknown): string {
  if (error instanceof CliError) return error.message;
  if (McpError.is(error)) {
    const data = error.data === undefined ? "" : `\n${quoted(toJson(error.data, 2))}`;
    return `The server returned error ${error.code}: ${oneLine(error.message, MESSAGE_CHARS_MAX)}${data}`;
  }
  if (!(error instanceof Error)) return String(error);
  const status = ClientError.is(error) ? error.response?.status : undefined;
  const hint =
    status === 401 || status === 403 ? '\nThe server requires a token: --header "Authorization: Bearer ..."' : "";
  const cause = describeCause(error);
  const isSignIn = ClientError.is(error) && error.code === "sign-in-failed";
  const other = isSignIn ? '\nIf you have a token: --header "Authorization: Bearer ..."' : "";
  // On the command line, both limits are the option --timeout.
  const text = `${error.message.replace(/\((timeoutMs|totalTimeoutMs)\)/, "(--timeout)")}${cause}`;
  return `${withMarks(text)}${hint}${other}`;
}

/** The maximum number of lines of an error message that are shown. */
const MESSAGE_LINES_MAX = 40;

/** Marks the lines after the first one, because a message of the client may end with text from the server. */
export function withMarks(text: string): string {
  const [first = "", ...rest] = clean(text).split(/\n+/);
  const more = rest.join("\n");
  return more.trim() === "" ? first : `${first}\n${quoted(more, { linesMax: MESSAGE_LINES_MAX })}`;
}

/** Returns the message of the cause in parentheses. Node's fetch reports only "fetch failed", with the reason as the cause. */
function describeCause({ message, cause }: Error): string {
  if (!(cause instanceof Error) || cause.message === "" || message.includes(cause.message)) return "";
  return ` (${cause.message})`;
}
