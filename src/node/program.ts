/**
 * Starts programs by their names, on every operating system. On Windows, `npm`, `npx` and programs that npm has installed are batch
 * files, which only cmd.exe can run, and which continue to run when the process that started them has ended.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { win32 } from "node:path";
import { KitError } from "../core/protocol/errors.ts";

/** A program with its arguments, in the form in which `spawn` starts it. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Whether the arguments are already quoted, as cmd.exe requires. */
  readonly windowsVerbatimArguments?: boolean;
}

/** Where a program is looked for. */
export interface Surroundings {
  /** @default the operating system of this process */
  readonly platform?: string;
  /** The folder in which the program will run. @default the current folder */
  readonly cwd?: string | undefined;
  /** The environment that the program will have. @default the environment of this process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Returns whether a file exists. */
  readonly isFile?: (path: string) => boolean;
}

/**
 * Returns how to start a program. Nothing changes except for a batch file on Windows, which is started by cmd.exe, with its arguments
 * quoted.
 *
 * @throws {KitError} `options-invalid` if an argument cannot be passed to a batch file unchanged.
 */
export function findProgram(command: string, args: readonly string[], surroundings: Surroundings = {}): Program {
  const { platform = process.platform, env = process.env } = surroundings;
  if (platform !== "win32") return { command, args };
  const path = findOnWindows(command, surroundings);
  // A program that is not found is left to spawn, which reports it.
  if (path === undefined || !/\.(?:cmd|bat)$/i.test(path)) return { command, args };
  const line = [path, ...args].map((part) => quoteForBatch(part, env)).join(" ");
  // /d: no AutoRun commands, /v:off: "!" has no meaning, /s: only the outer quotes are removed.
  const shell = variableOf(env, "COMSPEC") ?? "cmd.exe";
  return { command: shell, args: ["/d", "/v:off", "/s", "/c", `"${line}"`], windowsVerbatimArguments: true };
}

/** Looks for a program as cmd.exe does: a path from the folder, a name in the folders of PATH, each with the extensions of PATHEXT. */
function findOnWindows(
  command: string,
  { cwd = process.cwd(), env = process.env, isFile = isFileHere }: Surroundings,
): string | undefined {
  const extensions = (variableOf(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";").filter((each) => each !== "");
  const hasExtension = extensions.some((each) => command.toLowerCase().endsWith(each.toLowerCase()));
  const names = hasExtension ? [command] : extensions.map((extension) => command + extension.toLowerCase());
  // The current folder is not searched for a name: a cloned project could contain a program with the name of a known one.
  const folders = /[\\/]/.test(command) ? [cwd] : (variableOf(env, "PATH") ?? "").split(";");
  for (const folder of folders) {
    if (folder === "") continue;
    for (const name of names) {
      const path = win32.resolve(cwd, folder.replace(/^"(.*)"$/, "$1"), name);
      if (isFile(path)) return path;
    }
  }
  return undefined;
}

function isFileHere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Returns a variable. Names are case-insensitive on Windows, but the keys of a copied environment are not. */
function variableOf(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const key = Object.keys(env).find((each) => each.toUpperCase() === name);
  return key === undefined ? undefined : env[key];
}

/**
 * Quotes a part of a command line of cmd.exe. Between quotes, only quotes and the names of variables between percent signs have a
 * meaning, and neither can be escaped, so such a part is refused.
 */
function quoteForBatch(part: string, env: Readonly<Record<string, string | undefined>>): string {
  const isUnsafe = /["\r\n\0]/.test(part) || namesVariable(part, env);
  if (isUnsafe) {
    throw new KitError(
      "options-invalid",
      `The argument ${JSON.stringify(part)} cannot be passed to a batch file of Windows. Start the program behind it, such as node with the path of its file.`,
    );
  }
  // A backslash before the closing quote would escape it for the program behind the batch file.
  return `"${part.replace(/\\+$/, "$&$&")}"`;
}

function namesVariable(part: string, env: Readonly<Record<string, string | undefined>>): boolean {
  const names = [...part.matchAll(/%(?=([^%:]+)(?::[^%]*)?%)/g)].map(([, name = ""]) => name.toUpperCase());
  return (
    Object.keys(env).some((key) => names.includes(key.toUpperCase())) || names.some((name) => DYNAMIC.includes(name))
  );
}

/** Variables that cmd.exe computes. */
const DYNAMIC = ["CD", "CMDCMDLINE", "CMDEXTVERSION", "DATE", "ERRORLEVEL", "HIGHESTNUMANODENUMBER", "RANDOM", "TIME"];

/** Ends a process with all its child processes on Windows, where cmd.exe does not pass a signal on. Elsewhere, sends the signal. */
export function endProgram(child: ChildProcess, signal: NodeJS.Signals, platform: string = process.platform): void {
  if (platform !== "win32" || child.pid === undefined) {
    child.kill(signal);
    return;
  }
  if (child.exitCode !== null || child.signalCode !== null) return;
  const killer = spawn("taskkill", ["/pid", String(child.pid), "/t", "/f"], { stdio: "ignore", windowsHide: true });
  killer.on("error", () => child.kill(signal));
}
