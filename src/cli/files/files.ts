/**
 * Reads and writes files in folders that a stranger may have prepared, such as a cloned project.
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
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { readPlainFile } from "../../node/plain-file.ts";
import { usageError } from "../exit.ts";

/** The rules for a path. */
export interface TargetRules {
  /** The folder that the path must not leave through a link. @default any folder */
  readonly within?: string;
  /** Whether the path may itself be a link. @default followed */
  readonly links?: "followed" | "refused";
}

/**
 * Returns the path of the file that a path leads to, with all links resolved, whether or not the file exists.
 *
 * @throws {CliError} if the path leads out of the folder, naming where it leads; if it is a link to nothing, or no
 * file.
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
    throw usageError(`${path} is a link to ${real}. Nothing was changed. Replace the link by a file first.`);
  }
  if (found && !statSync(real).isFile()) throw usageError(`${path} is not a file.`);
  return real;
}

/** @throws {CliError} for a link to something that does not exist. */
function resolveRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw usageError(`${path} is a link that leads nowhere: ${(error as Error).message}. Remove it first.`);
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

/** Returns the bytes of a file, or undefined if there is none. @throws {CliError} if it is no file, or too large. */
export function readBytes(path: string): Buffer | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return readPlainFile(path);
  } catch (error) {
    throw usageError(`${(error as Error).message} Remove it, or choose another.`);
  }
}

/**
 * Returns the text of a file, or undefined if there is none. @throws {CliError} if it is no file, too large, or not
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
 * Writes a whole file in one step, which takes the place of the file at the path. An existing file keeps its mode.
 *
 * @param path A path from {@link findTarget}.
 * @param mode The mode of a new file.
 * @throws {CliError} if the file is read-only.
 */
export function writeWhole(path: string, content: string | Uint8Array, mode = 0o666): void {
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
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/** Fails if there is a file or a link already. */
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/** Renaming would replace a file that its owner has protected. */
function checkWritable(path: string, mode: number | undefined): void {
  if (mode === undefined || (mode & 0o200) !== 0) return;
  throw usageError(`${path} is read-only. Nothing was changed. Make it writable first: chmod u+w ${path}`);
}

/** The maximum number of copies of one file. */
const COPIES_MAX = 1_000;

/** Copies a file to a new one beside it, and returns its path. @throws {CliError} if there are too many copies. */
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
  throw usageError(`There are ${COPIES_MAX} copies of ${path} already. Delete some: ${path}.backup-*`);
}

/**
 * Writes a file of the current project. A path within the project must not lead out of it through a link;
 * one that the user has written with `..` or as a whole may lead anywhere.
 *
 * @throws {CliError} if it leads out of the project, or is not a file.
 */
export function writeProjectFile(
  path: string,
  content: string | Uint8Array,
  { mode, makesFolders = false }: { readonly mode?: number; readonly makesFolders?: boolean } = {},
): void {
  const folder = process.cwd();
  const rules = isWithin(resolve(path), folder) ? { within: folder } : {};
  const target = findTarget(path, rules);
  if (makesFolders) mkdirSync(dirname(target), { recursive: true });
  writeWhole(target, content, mode);
}
