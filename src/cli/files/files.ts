/**
 * Reads and writes files in untrusted folders, such as a cloned project.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { readPlainFile, renameWhenFreeSync } from "../../node/plain-file.ts";
import { usageError } from "../exit.ts";

/** Options of {@link findTarget}. */
export interface TargetRules {
  /** The folder that must contain the file, after all links are resolved. @default any folder */
  readonly within?: string;
  /** Whether the path itself may be a link. @default followed */
  readonly links?: "followed" | "refused";
}

/**
 * Resolves all links of a path, and returns the real path of the file. The file need not exist.
 *
 * @throws {CliError} if the path leads out of the folder, is a broken link, or is not a file.
 */
export function findTarget(path: string, { within, links = "followed" }: TargetRules = {}): string {
  const found = lstatSync(path, { throwIfNoEntry: false });
  const real = found
    ? resolveRealPath(path)
    : join(resolveRealFolder(dirname(resolve(path))), relative(dirname(path), path));
  if (within !== undefined && !isWithin(real, realpathSync(within))) {
    throw usageError(`${path} leads to ${real}, outside of this project. Nothing was changed. Remove the link first.`);
  }
  if (found?.isSymbolicLink() && links === "refused") {
    throw usageError(`${path} is a link to ${real}. Nothing was changed. Replace the link with a file first.`);
  }
  if (found && !statSync(real).isFile()) throw usageError(`${path} is not a file.`);
  return real;
}

/** @throws {CliError} if the path is a broken link. */
function resolveRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw usageError(`${path} is a broken link: ${(error as Error).message}. Remove it first.`);
  }
}

/** Returns the real path of a folder that may not exist yet. */
function resolveRealFolder(folder: string): string {
  if (lstatSync(folder, { throwIfNoEntry: false })) return resolveRealPath(folder);
  const parent = dirname(folder);
  return parent === folder ? folder : join(resolveRealFolder(parent), relative(parent, folder));
}

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Returns the bytes of a file; undefined if it does not exist. @throws {CliError} if it is not a regular file or is too large. */
export function readBytes(path: string): Buffer | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return readPlainFile(path);
  } catch (error) {
    throw usageError(`${(error as Error).message} Remove it, or choose another.`);
  }
}

/**
 * Returns the text of a file; undefined if it does not exist. @throws {CliError} if it is not a regular file, is too large, or is not
 * UTF-8.
 */
export function readText(path: string): string | undefined {
  const bytes = readBytes(path);
  if (!bytes) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw usageError(`${path} is not UTF-8 text, so a change would damage it. Nothing was changed. Convert it first.`);
  }
}

/**
 * Writes a file atomically, replacing an existing file. The mode of an existing file is kept.
 *
 * @param path A path from {@link findTarget}.
 * @param mode The mode of a new file.
 * @param beforeReplacing Called directly before the file is replaced. If it throws, the file stays as it is.
 * @throws {CliError} if the file is read-only.
 */
export function writeWhole(
  path: string,
  content: string | Uint8Array,
  mode = 0o666,
  beforeReplacing: () => void = () => undefined,
): void {
  const before = lstatSync(path, { throwIfNoEntry: false });
  checkWritable(path, before?.mode);
  const partial = join(dirname(path), `.${randomUUID()}.partial`);
  const file = openSync(partial, CREATE, before ? 0o600 : mode);
  try {
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (before) chmodSync(partial, before.mode & 0o777);
    beforeReplacing();
    renameWhenFreeSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/** Flags for creating a file. Opening fails if a file or link exists. */
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/** Refuses read-only files, because renaming would replace even those. */
function checkWritable(path: string, mode: number | undefined): void {
  if (mode === undefined || (mode & 0o200) !== 0) return;
  throw usageError(`${path} is read-only. Nothing was changed. Make it writable first: chmod u+w ${path}`);
}

/** The maximum number of backup copies of one file. */
const COPIES_MAX = 1_000;

/** Copies a file to a new backup beside it. Returns the path of the copy. @throws {CliError} if there are too many copies. */
export function copyBeside(path: string): string {
  const { mode } = statSync(path);
  checkWritable(path, mode);
  const content = readPlainFile(path);
  for (let count = 1; count <= COPIES_MAX; count++) {
    const copy = count === 1 ? `${path}.backup` : `${path}.backup-${count}`;
    let file: number;
    try {
      file = openSync(copy, CREATE, mode & 0o777);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw error;
    }
    try {
      writeFileSync(file, content);
    } finally {
      closeSync(file);
    }
    return copy;
  }
  throw usageError(`There are already ${COPIES_MAX} copies of ${path}. Delete some: ${path}.backup-*`);
}

/**
 * Checks whether {@link writeProjectFile} may write a file, so that several files are written only if all of them may be.
 *
 * @throws {CliError} as `writeProjectFile` does.
 */
export function checkProjectFile(path: string): void {
  const target = targetInProject(path);
  checkWritable(target, lstatSync(target, { throwIfNoEntry: false })?.mode);
}

function targetInProject(path: string): string {
  const folder = process.cwd();
  return findTarget(path, isWithin(resolve(path), folder) ? { within: folder } : {});
}

/**
 * Writes a file of the current project. A path inside the project must not lead out of it through a link. A path outside of the
 * project (absolute, or with `..`) is the user's choice, and is allowed.
 *
 * @throws {CliError} if a link leads out of the project, or the path is not a file.
 */
export function writeProjectFile(
  path: string,
  content: string | Uint8Array,
  {
    mode,
    makesFolders = false,
    beforeReplacing,
  }: { readonly mode?: number; readonly makesFolders?: boolean; readonly beforeReplacing?: () => void } = {},
): void {
  const target = targetInProject(path);
  if (makesFolders) mkdirSync(dirname(target), { recursive: true });
  writeWhole(target, content, mode, beforeReplacing);
}
