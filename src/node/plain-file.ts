import { readFileSync, statSync } from "node:fs";

/** The maximum size, in bytes, of a project's or host's file. Larger files are not read. */
export const FILE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads an untrusted file, such as a file of a cloned project. Pipes are refused, because reading one might never end, and huge
 * files, because they would fill the memory.
 *
 * @throws {Error} if it is not a regular file or is too large. Errors of the file system are thrown unchanged.
 */
export function readPlainFile(path: string): Buffer {
  const found = statSync(path);
  if (!found.isFile()) throw new Error(`${path} is not a file.`);
  if (found.size > FILE_BYTES_MAX)
    throw new Error(`${path} has ${found.size} bytes, but the maximum is ${FILE_BYTES_MAX}.`);
  return readFileSync(path);
}
