/**
 * Runs commands of an allow-list, without a shell.
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
 * What an argument may be: a regular expression that must match the whole argument, a list of texts, or a function that
 * returns true for it.
 */
export type ArgumentPattern = RegExp | readonly string[] | ((argument: string) => boolean);

/** One command of an allow-list. Nothing in it may come from outside. */
export interface CommandOptions {
  /** The absolute path of the program, so that no other program of the same name can run. */
  readonly file: string;
  /** Arguments that always come first, such as `["log", "--oneline"]`. @default none */
  readonly prefix?: readonly string[];
  /** The arguments that may begin with a dash. They must come before all others. @default none */
  readonly options?: readonly ArgumentPattern[];
  /** The other arguments, one pattern for each place. Fewer may be given. @default none */
  readonly args?: readonly ArgumentPattern[];
  /** The pattern of all further arguments. @default no further arguments */
  readonly rest?: ArgumentPattern;
  /**
   * Whether `--` is put before the arguments that are not options, so that the program takes none of them for an
   * option. Programs that do not know `--` (`echo`, `find`) need false; an argument that begins with a dash is refused
   * anyway.
   *
   * @default true
   */
  readonly separator?: boolean;
  /** The folder in which the program runs. @default the current folder of this process */
  readonly cwd?: string;
  /** Environment variables. The program gets only these, PATH and LANG; on Windows also SYSTEMROOT. @default none */
  readonly env?: Readonly<Record<string, string>>;
  /** The maximum number of arguments from outside. @default 100 */
  readonly argsMax?: number;
  /** The maximum number of characters of one argument from outside. @default 4,096 */
  readonly argCharactersMax?: number;
  /** The maximum number of bytes of the output and of the error output, each. @default 1 MiB */
  readonly outputBytesMax?: number;
  /** Milliseconds after which the program is killed. @default 10,000 */
  readonly timeoutMs?: number;
}

/** Options of one run. */
export interface RunOptions {
  /** Kills the program when it aborts; give `ctx.signal`. */
  readonly signal?: AbortSignal;
  /** The text or bytes for the program's input. @default none */
  readonly input?: string | Uint8Array;
}

/** How a program ended. */
export interface CommandResult {
  /** The exit code; null if a signal ended the program. */
  readonly exitCode: number | null;
  /** The output as UTF-8 text. Use `cleanText` before a client gets it. */
  readonly stdout: string;
  /** The error output as UTF-8 text. It may contain paths and other details. */
  readonly stderr: string;
}

/** Runs a command of the list with arguments from outside. */
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
 * Returns a function that runs the commands of a list, and no others. A command gets its arguments as a list and never
 * passes through a shell, so `;`, `|`, `$()` and quotes have no meaning in them.
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
 * An argument that begins with a dash is refused unless `options` allows it, because programs may take it for an option
 * that writes files or runs other programs. The list decides what a caller can do: do not allow programs that run
 * others from their arguments (`sh`, `env`, `xargs`, `find -exec`, `git -c`).
 *
 * The function rejects with a `RefusedError`: `command` for a name or an argument that is not allowed, `too-large` if
 * the program writes too much, and `timeout`. It rejects with the reason of the signal when that aborts. In each case
 * the program and its children are killed first.
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
  // Windows runs these through its shell.
  if (/\.(?:bat|cmd)$/i.test(command.file)) {
    throw new KitError("options-invalid", `${where}file is a batch file, which a shell would run; write a program.`);
  }
}

/** Returns the whole list of arguments. @throws {RefusedError} `command` naming the argument that is not allowed. */
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
  // The whole argument, on all of its lines. The flags g and y would make the result depend on earlier calls.
  return new RegExp(`^(?:${pattern.source})$`, pattern.flags.replace(/[gmy]/g, "")).test(argument);
}

function refused(text: string): RefusedError {
  return new RefusedError("command", `${text}.`);
}

/** Runs a program until it has ended and its output is complete. */
async function runProgram(
  { file, cwd, env, outputBytesMax = 1024 * 1024, timeoutMs = 10_000 }: CommandOptions,
  args: readonly string[],
  { signal, input }: RunOptions,
): Promise<CommandResult> {
  const child = spawn(file, args, {
    env: { ...BASE_ENVIRONMENT, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    // In a process group of its own, so that its children can be killed too.
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
    // What the program started in the background would otherwise go on without limits.
    kill();
  }
}

/** Variables without which programs do not start, or write in another encoding. */
const BASE_ENVIRONMENT: Readonly<Record<string, string>> =
  process.platform === "win32"
    ? { SYSTEMROOT: process.env.SYSTEMROOT ?? "C:\\Windows", PATH: process.env.PATH ?? "" }
    : { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

function send(child: ChildProcess, input: string | Uint8Array): void {
  // A program may end without having read its input.
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

/** Returns the text of a stream. Calls `onExcess` once when it has more bytes; what follows is not kept. */
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

/** Kills a program and the processes of its group. */
function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // They have already ended.
  }
}
