/**
 * Files in a folder, for untrusted paths.
 *
 * @module
 */
import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { checkOptions, type OptionTable, SIZE } from "../../core/protocol/check-options.ts";
import { checkedSegments } from "../../safe/paths.ts";
import { RefusedError, refusedValue } from "../../safe/refused.ts";

/** Options of {@link readFileWithin}. */
export interface ReadFileOptions {
  /** The maximum number of bytes of the file. @default 10 MiB */
  readonly bytesMax?: number;
}

const OPTIONS: OptionTable<ReadFileOptions> = { bytesMax: SIZE };

/**
 * Resolves an untrusted path to an existing file or folder in a root folder. Symbolic links are followed, but the result must be
 * inside the root. Returns undefined if the file does not exist.
 *
 * Another process with write access to the root could replace a folder with a link before the path is used. To read a file, use
 * {@link readFileWithin}, which checks the opened file. Only on Linux does that check leave no such gap.
 *
 * @param root An existing folder. It must not come from untrusted input.
 * @returns The absolute path, without symbolic links.
 * @throws {RefusedError} `path` for a path that could leave the root, or whose links lead out of it.
 */
export async function resolveFile(root: string, path: string): Promise<string | undefined> {
  const segments = checkedSegments(path);
  // On Windows, a colon introduces the name of an alternate data stream.
  if (process.platform === "win32" && path.includes(":")) throw refusedValue("path", "path", path, "it has a colon");
  const folder = await realpath(root);
  const found = await realpath(join(folder, ...segments)).catch(orUndefined);
  if (found === undefined) return undefined;
  if (isBelow(found, folder)) return found;
  throw refusedValue("path", "path", path, "a link leads out of its folder");
}

/**
 * Reads a file in a root folder. Returns undefined if the file does not exist; a resource handler can return that value as well.
 *
 * ```ts
 * server.resourceTemplate("notes://{+path}", {}, (_, { path }) => readFileWithin("/srv/notes", String(path)));
 * ```
 *
 * @param root An existing folder. It must not come from untrusted input.
 * @throws {RefusedError} `path` as {@link resolveFile} does, and for folders, pipes and devices; `too-large` above `bytesMax`.
 */
export async function readFileWithin(
  root: string,
  path: string,
  options: ReadFileOptions = {},
): Promise<Uint8Array | undefined> {
  checkOptions("readFileWithin(): ", options, OPTIONS);
  const { bytesMax = 10 * 1024 * 1024 } = options;
  const handle = await openFileWithin(root, path);
  if (!handle) return undefined;
  try {
    return await readAll(handle, bytesMax);
  } finally {
    await handle.close();
  }
}

/**
 * Opens a file in a root folder, for reading. Returns undefined if the file does not exist.
 *
 * @param root An existing folder. It must not come from untrusted input.
 * @throws {RefusedError} `path` as {@link resolveFile} does, and for folders, pipes and devices.
 */
export async function openFileWithin(root: string, path: string): Promise<FileHandle | undefined> {
  const file = await resolveFile(root, path);
  if (file === undefined) return undefined;
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(orUndefined);
  if (!handle) return undefined;
  try {
    await checkOpened(handle, root, path);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Checks that the opened file is a regular file in the root, even if a folder of its path was replaced with a link. */
async function checkOpened(handle: FileHandle, root: string, path: string): Promise<void> {
  const opened = await handle.stat();
  if (!opened.isFile()) throw refusedValue("path", "path", path, "it is not a file");
  // Linux provides the path of an open file.
  const actual = await readlink(`/proc/self/fd/${handle.fd}`).catch(orUndefined);
  if (actual !== undefined) {
    if (isBelow(actual, await realpath(root))) return;
  } else {
    // On other systems, check that the path still leads to the same file.
    const again = await resolveFile(root, path);
    const current = again === undefined ? undefined : await stat(again).catch(orUndefined);
    if (current?.ino === opened.ino && current.dev === opened.dev) return;
  }
  throw refusedValue("path", "path", path, "it changed while it was opened");
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Reads at most one byte more than the limit. The reported size is not used, because it may be wrong or change. */
async function readAll(handle: FileHandle, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of handle.createReadStream({ start: 0, end: bytesMax, autoClose: false })) {
    chunks.push(chunk);
    bytes += chunk.length;
  }
  if (bytes > bytesMax) throw new RefusedError("too-large", `The file has more than ${bytesMax} bytes.`);
  return new Uint8Array(Buffer.concat(chunks));
}

/**
 * Returns undefined if a file does not exist or is not readable, so that a caller cannot distinguish the two. Throws other errors.
 */
function orUndefined(error: NodeJS.ErrnoException): undefined {
  if (["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "ENXIO", "ENODEV"].includes(error.code ?? ""))
    return;
  throw error;
}
