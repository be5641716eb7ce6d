import { readFileSync, statSync } from "node:fs";

/** The maximum number of bytes of a file of a project or of a host that is read. */
export const FILE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Returns the content of a file that a stranger may have prepared, such as one of a cloned project. A pipe would be
 * read forever, and a huge file would fill the memory.
 *
 * @throws {Error} saying that it is not a file or too large; an error of the file system is thrown as it is.
 */
export function readPlainFile(path: string): Buffer {
  const found = statSync(path);
  if (!found.isFile()) throw new Error(`${path} is not a file.`);
  if (found.size > FILE_BYTES_MAX)
    throw new Error(`${path} has ${found.size} bytes, and at most ${FILE_BYTES_MAX} are read.`);
  return readFileSync(path);
}
