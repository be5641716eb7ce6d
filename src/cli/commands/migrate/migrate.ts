/**
 * `mcp-edge migrate`: runs the package `mcp-edge-migrate`, which contains a parser of 14 MB and is therefore installed only when it is used.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { findProgram, type Program } from "../../../node/program.ts";
import { CliError, Exit, usageError } from "../../exit.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { createTerminal } from "../../terminal/terminal.ts";
import { packageVersion } from "../../version.ts";
import type { MigrateOptions } from "./options.ts";

const PACKAGE = "mcp-edge-migrate";
/** The folder of mcp-edge. The path is the same from src/ and from dist/. */
const ROOT = join(import.meta.dirname, "../../../..");
/** Matches the folder for the programs of a project's packages. */
const PROGRAMS_OF_PROJECT = /[\\/]node_modules[\\/]\.bin[\\/]*$/;

/** Runs the command and returns its exit code. */
export async function runMigrate(folder: string, options: MigrateOptions): Promise<number> {
  const args = [
    ...(options.write ? ["--write"] : []),
    ...(options.force ? ["--force"] : []),
    ...(options.diff ? [] : ["--no-diff"]),
    "--",
    resolve(folder),
  ];
  const installed = findInstalled();
  if (installed !== undefined) return start({ command: process.execPath, args: [installed, ...args] });
  await agree(options.yes === true);
  // In an empty folder: npx would prefer a package of the folder that is migrated, and read its .npmrc. Without --prefix, it would also
  // look in the parent folders, and other users may write to the folder for temporary files.
  const cwd = mkdtempSync(join(tmpdir(), "mcp-edge-migrate-"));
  const env = createEnvironment(process.env);
  const fetching = ["--yes", `--prefix=${cwd}`, `${PACKAGE}@${packageVersion()}`];
  try {
    return await start(findProgram("npx", [...fetching, ...args], { cwd, env }), { cwd, env });
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/**
 * Returns the program of the package if it is installed next to mcp-edge in the same version. Neither the folder that is migrated is
 * searched, whose code must not run, nor the folders of NODE_PATH.
 */
function findInstalled(): string | undefined {
  return foldersOfPackages(ROOT)
    .map((folder) => join(folder, PACKAGE))
    .filter((folder) => versionOf(folder) === packageVersion() && existsSync(join(folder, "dist")))
    .map((folder) => join(folder, "bin/mcp-edge-migrate.js"))[0];
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
type Environment = Readonly<Record<string, string | undefined>>;

/** Removes the folders of PATH that depend on the current folder or belong to a project. The present version of Node comes first. */
function withoutProjects(path = ""): string {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder) && !PROGRAMS_OF_PROJECT.test(folder));
  return [dirname(process.execPath), ...folders].join(delimiter);
}

/** @throws {CliError} if the user does not agree, or cannot be asked. */
async function agree(isAgreed: boolean): Promise<void> {
  const terminal = createTerminal();
  const what = `The package ${PACKAGE}@${packageVersion()} is needed, and is fetched with npx (about 15 MB).`;
  if (isAgreed) return terminal.note(what);
  if (!terminal.canAsk) throw usageError(`${what} Add --yes to fetch it.`);
  const interruption = listenForSignals();
  try {
    const { askYesNo } = await import("../../terminal/ask.ts");
    terminal.note(what);
    if (!(await askYesNo("Fetch it?", interruption.signal, true)))
      throw new CliError(Exit.cancelled, "Nothing was changed.");
    interruption.signal.throwIfAborted();
  } finally {
    interruption.stop();
  }
}

function start(program: Program, options: { readonly cwd?: string; readonly env?: Environment } = {}): Promise<number> {
  const { command, args, windowsVerbatimArguments = false } = program;
  return new Promise((done, reject) => {
    const child = spawn(command, args, { ...options, windowsVerbatimArguments, stdio: "inherit" });
    child.once("error", (error) =>
      reject(new CliError(Exit.serverError, `${command} could not be started.`, { cause: error })),
    );
    child.once("exit", (code) => done(code ?? Exit.cancelled));
  });
}
