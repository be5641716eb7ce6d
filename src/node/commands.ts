/**
 * Runs commands from an allow-list, without a shell.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { isAbsolute } from "node:path";
import type { Readable } from "node:stream";
import { quote } from "../core/basics/quote.ts";
import { checkOptions, type OptionTable, SIZE, TIMER } from "../core/protocol/check-options.ts";
import { KitError } from "../core/protocol/errors.ts";
import { RefusedError } from "../safe/refused.ts";

/**
 * The allowed values of an argument: a regular expression that must match the whole argument, a list of strings, or a function that
 * returns true for allowed values.
 */
export type ArgumentPattern = RegExp | readonly string[] | ((argument: string) => boolean);

/** A command of an allow-list. None of its values may come from untrusted input. */
export interface CommandOptions {
  /** The absolute path of the program. A name that is looked up in PATH could run another program. */
  readonly file: string;
  /** Fixed arguments that always come first, such as `["log", "--oneline"]`. @default none */
  readonly prefix?: readonly string[];
  /** The allowed arguments that begin with a dash. They must come before all other arguments. @default none */
  readonly options?: readonly ArgumentPattern[];
  /** The allowed positional arguments, one pattern for each position. Callers may pass fewer. @default none */
  readonly args?: readonly ArgumentPattern[];
  /** The pattern of all additional arguments. @default no additional arguments are allowed */
  readonly rest?: ArgumentPattern;
  /**
   * Whether `--` is inserted before the positional arguments, so that the program does not interpret them as options. Set it to false
   * for programs that do not support `--` (`echo`, `find`). Positional arguments that begin with a dash are refused in any case.
   *
   * @default true
   */
  readonly separator?: boolean;
  /** The working directory of the program. @default the current folder of this process */
  readonly cwd?: string;
  /** Environment variables. The program receives only these, PATH and LANG; on Windows also SYSTEMROOT. @default none */
  readonly env?: Readonly<Record<string, string>>;
  /** The maximum number of arguments that a caller may pass. @default 100 */
  readonly argsMax?: number;
  /** The maximum number of characters of each of these arguments. @default 4,096 */
  readonly argCharactersMax?: number;
  /** The maximum number of bytes of the output and of the error output, each. @default 1 MiB */
  readonly outputBytesMax?: number;
  /** How long the program may run before it is killed, in milliseconds. @default 10,000 */
  readonly timeoutMs?: number;
}

/** Options of a single run. */
export interface RunOptions {
  /** Kills the program when it aborts. Pass `ctx.signal`. */
  readonly signal?: AbortSignal;
  /** Text or bytes for the standard input of the program. @default none */
  readonly input?: string | Uint8Array;
}

/** The outcome of a program. */
export interface CommandResult {
  /** The exit code; null if the program was ended by a signal. */
  readonly exitCode: number | null;
  /** The standard output as UTF-8 text. Pass it through `cleanText` before you return it to a client. */
  readonly stdout: string;
  /** The standard error as UTF-8 text. It may contain paths and other internal details. */
  readonly stderr: string;
}

/** Runs a command of the allow-list. Its arguments may come from untrusted input. */
export type RunCommand<Name extends string> = (
  name: Name,
  args: readonly string[],
  options?: RunOptions,
) => Promise<CommandResult>;

const COMMAND: OptionTable<CommandOptions> = {
  file: null,
  prefix: null,
  options: null,
  args: null,
  rest: null,
  separator: null,
  cwd: null,
  env: null,
  argsMax: SIZE,
  argCharactersMax: SIZE,
  outputBytesMax: SIZE,
  timeoutMs: TIMER,
};
const RUN: OptionTable<RunOptions> = { signal: null, input: null };

/**
 * Returns a function that runs only the commands of a list. A command receives its arguments as a list and is never run by a shell,
 * so `;`, `|`, `$()` and quotes have no special meaning in them.
 *
 * ```ts
 * const run = allowCommands({
 *   log: { file: "/usr/bin/git", prefix: ["log", "--oneline"], options: [/--max-count=\d{1,3}/], rest: /[\w./-]+/ },
 * });
 *
 * server.tool("history", { input: z.object({ path: z.string() }) }, async ({ path }, ctx) => {
 *   const { stdout } = await run("log", ["--max-count=10", path], { signal: ctx.signal });
 *   return cleanText(stdout);
 * });
 * ```
 *
 * An argument that begins with a dash is refused unless `options` allows it, because programs may interpret it as an option that
 * writes files or runs other programs. What a caller can do depends entirely on the list: do not allow programs that run other
 * programs from their arguments (`sh`, `env`, `xargs`, `find -exec`, `git -c`).
 *
 * The function rejects with a `RefusedError`: `command` for a name or argument that is not allowed, `too-large` if the program writes
 * too much, and `timeout`. It rejects with the reason of the signal when the signal aborts. In each case, the program and its child
 * processes are killed first.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function allowCommands<const Commands extends Readonly<Record<string, CommandOptions>>>(
  commands: Commands,
): RunCommand<keyof Commands & string> {
  const list = new Map(Object.entries(commands));
  for (const [name, command] of list) checkCommand(name, command);
  return async (name, args, options = {}) => {
    checkOptions("the options of a command: ", options, RUN);
    const command = list.get(name);
    if (!command) throw refused(`There is no command ${quote(String(name))}`);
    const checked = checkArguments(name, command, args);
    options.signal?.throwIfAborted();
    return runProgram(command, checked, options);
  };
}

function checkCommand(name: string, command: CommandOptions): void {
  const where = `allowCommands(): ${name}.`;
  checkOptions(where, command, COMMAND);
  if (!isAbsolute(command.file)) {
    throw new KitError("options-invalid", `${where}file is ${JSON.stringify(command.file)}; write the absolute path.`);
  }
  // Windows runs batch files with its shell.
  if (/\.(?:bat|cmd)$/i.test(command.file)) {
    throw new KitError("options-invalid", `${where}file is a batch file, which a shell would run; write a program.`);
  }
}

/** Returns the complete list of arguments. @throws {RefusedError} `command` naming the argument that is not allowed. */
function checkArguments(name: string, command: CommandOptions, args: readonly string[]): string[] {
  const { prefix = [], options = [], args: places = [], rest, separator = true } = command;
  const { argsMax = 100, argCharactersMax = 4_096 } = command;
  if (args.length > argsMax) throw refused(`Command "${name}" takes at most ${argsMax} arguments`);
  const first = args.findIndex((argument) => !String(argument).startsWith("-"));
  const end = first === -1 ? args.length : first;
  for (const [at, argument] of args.entries()) {
    const isFit = typeof argument === "string" && argument.length <= argCharactersMax && !argument.includes("\0");
    const isOption = at < end;
    const allowed = isOption ? options : [places[at - end] ?? rest ?? []];
    const isHidden = !isOption && String(argument).startsWith("-");
    if (isFit && !isHidden && allowed.some((pattern) => matches(pattern, argument))) continue;
    throw refused(`Argument ${at + 1} of command "${name}" is not allowed: ${quote(String(argument))}`);
  }
  const separated = separator && end < args.length ? ["--"] : [];
  return [...prefix, ...args.slice(0, end), ...separated, ...args.slice(end)];
}

function matches(pattern: ArgumentPattern, argument: string): boolean {
  if (typeof pattern === "function") return pattern(argument) === true;
  if (!(pattern instanceof RegExp)) return pattern.includes(argument);
  // Matches the whole argument, including line breaks. With the flags g and y, the result would depend on earlier calls.
  return new RegExp(`^(?:${pattern.source})$`, pattern.flags.replace(/[gmy]/g, "")).test(argument);
}

function refused(text: string): RefusedError {
  return new RefusedError("command", `${text}.`);
}

/** Runs a program. Resolves when it has ended and its output is complete. */
async function runProgram(
  { file, cwd, env, outputBytesMax = 1024 * 1024, timeoutMs = 10_000 }: CommandOptions,
  args: readonly string[],
  { signal, input }: RunOptions,
): Promise<CommandResult> {
  const child = spawn(file, args, {
    env: { ...BASE_ENVIRONMENT, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    // In its own process group, so that its child processes can be killed too.
    detached: process.platform !== "win32",
    shell: false,
    windowsHide: true,
  });
  const timeout = AbortSignal.timeout(timeoutMs);
  const ending = new AbortController();
  const stop = AbortSignal.any([timeout, ending.signal, ...(signal ? [signal] : [])]);
  const kill = () => killAll(child);
  stop.addEventListener("abort", kill, { once: true });
  const read = (stream: Readable | null) => {
    return collect(stream, outputBytesMax, () => {
      ending.abort(new RefusedError("too-large", `The command wrote more than ${outputBytesMax} bytes.`));
    });
  };
  try {
    if (input !== undefined) send(child, input);
    const [exitCode, stdout, stderr] = await Promise.all([waitForExit(child), read(child.stdout), read(child.stderr)]);
    if (timeout.aborted) throw new RefusedError("timeout", `The command took longer than ${timeoutMs} ms.`);
    stop.throwIfAborted();
    return { exitCode, stdout, stderr };
  } finally {
    stop.removeEventListener("abort", kill);
    // Otherwise background processes of the program would continue without limits.
    kill();
  }
}

/** Variables without which programs do not start, or use another encoding. */
const BASE_ENVIRONMENT: Readonly<Record<string, string>> =
  process.platform === "win32"
    ? { SYSTEMROOT: process.env.SYSTEMROOT ?? "C:\\Windows", PATH: process.env.PATH ?? "" }
    : { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

function send(child: ChildProcess, input: string | Uint8Array): void {
  // A program may end without reading its input.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
}

/** Resolves when the program has ended and its streams are closed. Rejects if it could not be started. */
function waitForExit(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => {
      reject(
        new KitError("options-invalid", `allowCommands(): ${child.spawnfile} could not be started.`, { cause: error }),
      );
    });
    child.once("close", resolve);
  });
}

/** Returns the text of a stream. Calls `onExcess` when the stream exceeds the limit; the excess is discarded. */
async function collect(stream: Readable | null, bytesMax: number, onExcess: () => void): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (stream ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else onExcess();
  }
  return Buffer.concat(chunks).toString();
}

/** Kills a program and all processes in its group. */
function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // The processes have already ended.
  }
}
