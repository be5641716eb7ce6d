import type { Contract } from "../../../lock/contract.ts";
import { parseContract } from "../../../lock/parse-contract.ts";
import { usageError } from "../../exit.ts";
import { readJsonFile } from "../../files/json-file.ts";

/**
 * Returns the contract in a lock file; undefined if the file does not exist.
 *
 * @throws {CliError} naming the file, the invalid member and what to do.
 */
export function readLockFile(file: string): Contract | undefined {
  const value = readJsonFile(file);
  if (!value) return undefined;
  const { contract, problem } = parseContract(value);
  if (contract) return contract;
  throw usageError(
    `${file} is not a valid lock file: ${problem} Restore it from version control, or delete it and write it again with mcp-edge lock.`,
  );
}
