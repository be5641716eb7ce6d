/**
 * `mcp-edge check --lock`: compares a server with a lock file.
 *
 * @module
 */
import { compareContracts } from "../../../lock/compare.ts";
import { Exit, usageError } from "../../exit.ts";
import { noHandlers, withClient } from "../../server/connection.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import type { ServerAddress } from "../../server/server-address.ts";
import { findName } from "../../server/target.ts";
import { redactArguments } from "../../terminal/redact.ts";
import { printJson } from "../../terminal/show.ts";
import { countBySeverity, printChanges } from "./changes.ts";
import { explainLost, readLockFile } from "./lock-file.ts";
import { readServerContract } from "./server-contract.ts";

/** Options of {@link checkLock}. */
export interface CheckLockOptions extends ConnectionOptions {
  /** Whether every change fails the command, not only those that break callers. */
  readonly strict?: boolean;
}

/** Compares a server with a lock file, prints the changes, and returns the exit code. */
export async function checkLock(server: string, file: string, options: CheckLockOptions): Promise<number> {
  const before = readLockFile(file);
  if (!before) throw usageError(`${file} does not exist. mcp-edge lock writes it.`);
  return withClient(server, options, noHandlers, async (session) => {
    const { terminal, target } = session;
    const after = await readServerContract(session, options);
    const changes = compareContracts(before.contract, after);
    const counts = countBySeverity(changes);
    if (options.json) printJson(terminal, { server: nameOf(target), file, counts, changes });
    else if (changes.length > 0) printChanges(changes, terminal);
    else terminal.note(`The server matches ${file}.`);
    const isRefused = counts.breaking > 0 || (options.strict === true && changes.length > 0);
    return isRefused ? Exit.contractChanged : Exit.ok;
  }).catch((error: unknown) => {
    throw explainLost(error, `The server was not compared with ${file}.`);
  });
}

/** Returns the name of a server to print, without secrets in the arguments of its command. */
function nameOf(target: ServerAddress): string {
  if (target.kind === "http") return findName(target);
  return findName({ ...target, args: redactArguments(target.args) });
}
