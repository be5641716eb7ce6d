import { readFileSync, renameSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

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

/** How long to wait before each further attempt to rename, in milliseconds: two seconds in all. */
const WAITS_MS = [10, 40, 150, 300, 500, 1_000];

/** The functions that tests replace. */
export interface Renaming {
  readonly platform?: string;
  readonly rename?: (from: string, to: string) => void;
}

/**
 * Renames a file or folder, and replaces a file with the new name. On Windows, this fails while another program has one of them open, such
 * as a virus scanner or a process that reads it, so it is repeated for two seconds.
 *
 * @throws the error of the last attempt.
 */
export async function renameWhenFree(from: string, to: string, options: Renaming = {}): Promise<void> {
  for (const waitMs of WAITS_MS) {
    if (tryRename(from, to, options)) return;
    await sleep(waitMs);
  }
  (options.rename ?? renameSync)(from, to);
}

/** {@link renameWhenFree} for commands, which have nothing else to do while they wait. */
export function renameWhenFreeSync(from: string, to: string, options: Renaming = {}): void {
  for (const waitMs of WAITS_MS) {
    if (tryRename(from, to, options)) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs);
  }
  (options.rename ?? renameSync)(from, to);
}

/** Returns false if the name is in use on Windows. */
function tryRename(from: string, to: string, { platform = process.platform, rename = renameSync }: Renaming): boolean {
  try {
    rename(from, to);
    return true;
  } catch (error) {
    const isInUse = ["EPERM", "EACCES", "EBUSY"].includes((error as NodeJS.ErrnoException).code ?? "");
    if (platform !== "win32" || !isInUse) throw error;
    return false;
  }
}
