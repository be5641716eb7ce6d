/**
 * The files of a project, which may come from strangers: what is read is bounded, and nothing outside of the folder is read or written.
 *
 * @module
 */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";
import { listFiles } from "./git.ts";
import type { Change, TextFile } from "./migrate.ts";

/** The maximum number of files that are read. */
export const FILES_MAX = 2_000;
/** The maximum size of a file, in bytes. Larger files are generated or hold data. */
export const FILE_BYTES_MAX = 1_000_000;
/** The maximum size of all files together, in bytes. */
export const TOTAL_BYTES_MAX = 30_000_000;
/** The maximum depth of folders. */
const DEPTH_MAX = 20;

const READ = /\.[cm]?[jt]sx?$|(^|\/)(package\.json|wrangler\.(jsonc?|toml))$/;
const SKIPPED = /(^|\/)(node_modules|\.git|dist|build|\.wrangler|\.next|coverage)\//;

/** Thrown for a folder that cannot be migrated. The message is shown to the user. */
export class FolderError extends Error {
  override readonly name = "FolderError";
}

/** The files of a project that were read. */
export interface Project {
  /** The folder, without symbolic links in its path. */
  readonly folder: string;
  readonly files: readonly TextFile[];
  /** Files that were not read, with the reason. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

/** Reads the files of a folder. @throws {FolderError} if it is not a folder, or has too many files. */
export function readProject(given: string): Project {
  const folder = realFolder(given);
  const paths = (listFiles(folder) ?? walk(folder)).filter(
    (path) => READ.test(path) && !SKIPPED.test(path) && !path.endsWith(".d.ts"),
  );
  if (paths.length > FILES_MAX)
    throw new FolderError(
      `The folder has ${paths.length} source files; at most ${FILES_MAX} are read. Name a smaller folder.`,
    );
  const files: TextFile[] = [];
  const skipped: { path: string; reason: string }[] = [];
  let total = 0;
  for (const path of paths.sort()) {
    const read = readText(folder, path);
    if (typeof read !== "object") {
      skipped.push({ path, reason: read });
      continue;
    }
    total += read.text.length;
    if (total > TOTAL_BYTES_MAX)
      throw new FolderError(`The source files have more than ${TOTAL_BYTES_MAX} bytes. Name a smaller folder.`);
    files.push(read);
  }
  return { folder, files, skipped };
}

function realFolder(given: string): string {
  try {
    const folder = realpathSync(given);
    if (lstatSync(folder).isDirectory()) return folder;
  } catch {
    // A path that does not exist gets the same error as a file.
  }
  throw new FolderError(`${given} is not a folder.`);
}

/** Lists the files of a folder that is not in a repository. Symbolic links are not followed. */
function walk(folder: string, prefix = "", depth = 0): string[] {
  if (depth > DEPTH_MAX) return [];
  const found: string[] = [];
  for (const entry of entriesOf(join(folder, prefix))) {
    const path = prefix + entry.name;
    if (entry.isFile()) found.push(path);
    else if (entry.isDirectory() && !SKIPPED.test(`${path}/`)) found.push(...walk(folder, `${path}/`, depth + 1));
    if (found.length > 20 * FILES_MAX) throw new FolderError("The folder has too many files. Name a smaller folder.");
  }
  return found;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // A folder that cannot be read has no files that could be changed.
    return [];
  }
}

/** Reads a file, or returns the reason why it was not read. */
function readText(folder: string, path: string): TextFile | string {
  const full = join(folder, path);
  try {
    const real = realpathSync(full);
    if (!isWithin(folder, real)) return "it is a link that leaves the folder";
    if (real !== full) return "it is a link";
    const file = openSync(full, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      const facts = fstatSync(file);
      if (!facts.isFile()) return "it is not a file";
      if (facts.size > FILE_BYTES_MAX) return `it has more than ${FILE_BYTES_MAX} bytes`;
      const bytes = Buffer.alloc(facts.size);
      const length = readSync(file, bytes, 0, facts.size, 0);
      const content = bytes.subarray(0, length);
      if (content.includes(0)) return "it is not text";
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
      return { path, text };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return `it cannot be read (${error instanceof Error ? error.message : String(error)})`;
  }
}

function isWithin(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/**
 * Writes the changes. Each file is replaced as a whole.
 *
 * @throws {FolderError} if a file has changed since it was read, or is now a link. The files before it are written then.
 */
export function writeChanges(folder: string, changes: readonly Change[]): void {
  for (const { path, before, after } of changes) {
    const current = readText(folder, path);
    if (typeof current !== "object" || current.text !== before)
      throw new FolderError(`${path} has changed meanwhile, and was not written.`);
    const full = join(folder, path);
    const parent = realpathSync(dirname(full));
    if (parent !== folder && !isWithin(folder, parent)) throw new FolderError(`${path} is not in the folder.`);
    const mode = lstatSync(full).mode & 0o777;
    const temporary = join(parent, `.mcp-edge-migrate-${process.pid}`);
    try {
      writeFileSync(temporary, after, { flag: "wx", mode });
      renameSync(temporary, full);
    } catch (error) {
      throw new FolderError(
        `${path} could not be written (${error instanceof Error ? error.message : String(error)}).`,
      );
    } finally {
      rmSync(temporary, { force: true });
    }
  }
}
