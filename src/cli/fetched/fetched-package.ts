/**
 * Packages that contain a large library, and are therefore fetched with npx when a command needs them.
 *
 * @module
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { findProgram, type Program } from "../../node/program.ts";
import { CliError, Exit, usageError } from "../exit.ts";
import { listenForSignals } from "../terminal/signals.ts";
import { createTerminal } from "../terminal/terminal.ts";
import { packageVersion } from "../version.ts";

/** A package with a program of the same name. It has the version of mcp-edge. */
export interface FetchedPackage {
  readonly name: string;
  /** The approximate size of the download, in MB. */
  readonly megabytes: number;
}

/** A program that can be started. */
export interface Prepared {
  readonly program: Program;
  /** The folder and environment in which it has to be started; those of this process if they are undefined. */
  readonly options: { readonly cwd?: string; readonly env?: Environment };
  /** Removes the temporary folder. */
  remove(): void;
}

/**
 * Finds the program of a package, or prepares to fetch it.
 *
 * @param isAgreed Whether the user has agreed that it is fetched. Otherwise the user is asked.
 * @throws {CliError} if the user does not agree, or cannot be asked.
 */
export async function preparePackage(
  fetched: FetchedPackage,
  args: readonly string[],
  isAgreed: boolean,
): Promise<Prepared> {
  const installed = findInstalled(fetched.name);
  if (installed !== undefined) {
    const program = { command: process.execPath, args: [installed, ...args] };
    return { program, options: {}, remove: () => undefined };
  }
  await agree(fetched, isAgreed);
  // In an empty folder: npx would prefer a package of the current folder, and read its .npmrc. Without --prefix, it would also look in
  // the parent folders, and other users may write to the folder for temporary files.
  const cwd = mkdtempSync(join(tmpdir(), `${fetched.name}-`));
  const env = createEnvironment(process.env);
  const fetching = ["--yes", `--prefix=${cwd}`, `${fetched.name}@${packageVersion()}`];
  const remove = () => rmSync(cwd, { recursive: true, force: true });
  return { program: findProgram("npx", [...fetching, ...args], { cwd, env }), options: { cwd, env }, remove };
}

/** The folder of mcp-edge. The path is the same from src/ and from dist/. */
const ROOT = join(import.meta.dirname, "../../..");
/** Matches the folder for the programs of a project's packages. */
const PROGRAMS_OF_PROJECT = /[\\/]node_modules[\\/]\.bin[\\/]*$/;

/**
 * Returns the program of the package if it is installed next to mcp-edge in the same version. Neither the current folder is searched,
 * whose code must not run, nor the folders of NODE_PATH.
 */
function findInstalled(name: string): string | undefined {
  return foldersOfPackages(ROOT)
    .map((folder) => join(folder, name))
    .filter((folder) => versionOf(folder) === packageVersion() && existsSync(join(folder, "dist")))
    .map((folder) => join(folder, "bin", `${name}.js`))[0];
}

/** Returns the folder with the dependencies of a package, and the folders in which the package is installed. */
function foldersOfPackages(root: string): string[] {
  const folders = [join(root, "node_modules")];
  for (let folder = root; dirname(folder) !== folder; folder = dirname(folder)) {
    if (basename(dirname(folder)) === "node_modules") folders.push(dirname(folder));
  }
  return folders;
}

function versionOf(folder: string): unknown {
  try {
    return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version?: unknown }).version;
  } catch {
    // The package is not installed.
    return undefined;
  }
}

/**
 * Returns an environment in which npx does not use anything of a project. npm adds the programs of the project to PATH, and passes the
 * settings of its .npmrc, such as the registry, in variables with lower-case names.
 */
export function createEnvironment(env: Environment): Environment {
  const isOfNpm = env.npm_execpath !== undefined;
  const kept = Object.entries(env).filter(([name]) => !isOfNpm || !name.startsWith("npm_"));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, name.toUpperCase() === "PATH" ? withoutProjects(value) : value]),
  );
}
/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Removes the folders of PATH that depend on the current folder or belong to a project. The present version of Node comes first. */
function withoutProjects(path = ""): string {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder) && !PROGRAMS_OF_PROJECT.test(folder));
  return [dirname(process.execPath), ...folders].join(delimiter);
}

/** @throws {CliError} if the user does not agree, or cannot be asked. */
async function agree({ name, megabytes }: FetchedPackage, isAgreed: boolean): Promise<void> {
  const terminal = createTerminal();
  const what = `The package ${name}@${packageVersion()} is needed, and is fetched with npx (about ${megabytes} MB).`;
  if (isAgreed) return terminal.note(what);
  if (!terminal.canAsk) throw usageError(`${what} Add --yes to fetch it.`);
  const interruption = listenForSignals();
  try {
    const { askYesNo } = await import("../terminal/ask.ts");
    terminal.note(what);
    if (!(await askYesNo("Fetch it?", interruption.signal, true)))
      throw new CliError(Exit.cancelled, "Nothing was changed.");
    interruption.signal.throwIfAborted();
  } finally {
    interruption.stop();
  }
}
