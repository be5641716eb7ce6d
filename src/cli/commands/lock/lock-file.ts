/**
 * Lock files: reading one that may be damaged, and replacing one that another process may change too.
 *
 * @module
 */
import type { Contract } from "../../../lock/contract.ts";
import { parseContract } from "../../../lock/parse-contract.ts";
import { readPlainFile } from "../../../node/plain-file.ts";
import { CliError, Exit, getExitCode, usageError, withMore } from "../../exit.ts";
import { writeProjectFile } from "../../files/files.ts";

/** A lock file that was read. */
export interface LockFile {
  readonly contract: Contract;
  /** The text, without a byte order mark and with line feeds, as `formatContract()` writes it. */
  readonly text: string;
  /** The content of the file. */
  readonly bytes: Buffer;
}

const WRITE_AGAIN = "Restore it from version control, or delete it and write it again with mcp-edge lock.";

/**
 * Reads a lock file. Returns undefined if it does not exist.
 *
 * @throws {CliError} with the exit code 2, naming the file, what is wrong with it, and what to do.
 */
export function readLockFile(file: string): LockFile | undefined {
  if (file === "") throw usageError("The name of the lock file is empty. Write the name of a file.");
  const bytes = readFile(file);
  if (!bytes) return undefined;
  const text = decode(bytes)?.replaceAll("\r\n", "\n");
  let value: unknown;
  try {
    value = JSON.parse(text ?? "");
  } catch {
    throw usageError(`${file} is not JSON, for example because of a merge conflict. ${WRITE_AGAIN}`);
  }
  const { contract, problem, isNewer } = parseContract(value);
  if (contract) return { contract, text: text ?? "", bytes };
  if (isNewer) {
    throw usageError(`${file} was written by a newer version of mcp-edge: ${problem} Update mcp-edge and try again.`);
  }
  throw usageError(`${file} is not a valid lock file: ${problem} ${WRITE_AGAIN}`);
}

function readFile(file: string): Buffer | undefined {
  try {
    return readPlainFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw usageError(
      `${file} cannot be read: ${describeReason(error as Error)} Name another file, or repair this one.`,
    );
  }
}

/** Returns the reason of an error without the path, which may be the path of a temporary file. */
function describeReason({ message, code }: NodeJS.ErrnoException): string {
  return code === undefined ? message : `${message.split(",")[0]}.`;
}

/** Returns the text without a byte order mark; undefined if it is not UTF-8. */
function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Writes a lock file, unless it has changed since it was read.
 *
 * @param before The file as it was read; undefined if it did not exist.
 * @throws {CliError} with the exit code 2.
 */
export function writeLockFile(file: string, text: string, before: LockFile | undefined): void {
  const requireUnchanged = () => {
    const now = readFile(file);
    if (now === undefined ? before === undefined : before !== undefined && now.equals(before.bytes)) return;
    throw usageError(
      `${file} was changed by another process while the server was read, and was left as it is. Run the same command again.`,
    );
  };
  try {
    writeProjectFile(file, text, { beforeReplacing: requireUnchanged });
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw usageError(`${file} cannot be written: ${describeReason(error as Error)} Choose another file with --out.`);
  }
}

/** Adds to the error of a connection what has not happened because of it. */
export function explainLost(error: unknown, outcome: string): unknown {
  if (getExitCode(error) !== Exit.connection) return error;
  return withMore(
    error,
    `${outcome} If the server should be reachable, run mcp-edge doctor to find out why it is not.`,
  );
}
