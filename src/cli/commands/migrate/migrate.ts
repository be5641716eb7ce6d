/**
 * `mcp-edge migrate`: runs the package `mcp-edge-migrate`, which contains a parser of 14 MB and is therefore installed only when it is used.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { CliError, Exit } from "../../exit.ts";
import { type Prepared, preparePackage } from "../../fetched/fetched-package.ts";
import type { MigrateOptions } from "./options.ts";

const PACKAGE = { name: "mcp-edge-migrate", megabytes: 15 };

/** Runs the command and returns its exit code. */
export async function runMigrate(folder: string, options: MigrateOptions): Promise<number> {
  const args = [
    ...(options.write ? ["--write"] : []),
    ...(options.force ? ["--force"] : []),
    ...(options.diff ? [] : ["--no-diff"]),
    "--",
    resolve(folder),
  ];
  const prepared = await preparePackage(PACKAGE, args, options.yes === true);
  try {
    return await start(prepared);
  } finally {
    prepared.remove();
  }
}

function start({ program, options }: Prepared): Promise<number> {
  const { command, args, windowsVerbatimArguments = false } = program;
  return new Promise((done, reject) => {
    const child = spawn(command, args, { ...options, windowsVerbatimArguments, stdio: "inherit" });
    child.once("error", (error) =>
      reject(new CliError(Exit.serverError, `${command} could not be started.`, { cause: error })),
    );
    child.once("exit", (code) => done(code ?? Exit.cancelled));
  });
}
