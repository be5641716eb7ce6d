/**
 * `mcp-edge migrate`: runs the package `mcp-edge-migrate`, which contains a parser of 14 MB and is therefore installed only when it is used.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { findProgram, type Program } from "../../../node/program.ts";
import { CliError, Exit, usageError } from "../../exit.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { createTerminal } from "../../terminal/terminal.ts";
import { packageVersion } from "../../version.ts";
import type { MigrateOptions } from "./options.ts";

const PACKAGE = "mcp-edge-migrate";

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
  // In a folder without packages: npx would prefer a package of the folder that is migrated, and read its .npmrc.
  const cwd = mkdtempSync(join(tmpdir(), "mcp-edge-migrate-"));
  try {
    // Without this file, npx looks for a project in the folders above, in which other users may be allowed to write.
    writeFileSync(join(cwd, "package.json"), '{ "private": true }');
    return await start(findProgram("npx", ["--yes", `${PACKAGE}@${packageVersion()}`, ...args], { cwd }), cwd);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/**
 * Returns the program of the package if it is installed next to mcp-edge in the same version. It is never looked up in the folder that is
 * migrated, whose code must not run.
 */
function findInstalled(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`);
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version?: unknown };
    const program = join(dirname(manifest), "bin/mcp-edge-migrate.js");
    return version === packageVersion() && existsSync(join(dirname(manifest), "dist")) ? program : undefined;
  } catch {
    // The package is not installed.
    return undefined;
  }
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

function start({ command, args, windowsVerbatimArguments = false }: Program, cwd?: string): Promise<number> {
  return new Promise((done, reject) => {
    const child = spawn(command, args, { cwd, windowsVerbatimArguments, stdio: "inherit" });
    child.once("error", (error) =>
      reject(new CliError(Exit.serverError, `${command} could not be started.`, { cause: error })),
    );
    child.once("exit", (code) => done(code ?? Exit.cancelled));
  });
}
