/**
 * Replaces a file of a host, and keeps the previous one beside it.
 *
 * @module
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { CliError, Exit } from "../exit.ts";

/** Returns the text of a file; empty if there is none. */
export function readIfExists(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/**
 * Writes a file in one step, so that a host never reads half of it. A symbolic link stays one.
 *
 * @param before The text that the change was made for.
 * @returns The path of the copy of the previous file, or undefined if there was none.
 * @throws {CliError} if the file has changed since then.
 */
export function replaceFile(path: string, before: string, after: string): string | undefined {
  if (readIfExists(path) !== before) {
    throw new CliError(
      Exit.cancelled,
      `${path} was changed by another program in the meantime. Run the command again.`,
    );
  }
  const isNew = !existsSync(path);
  const target = isNew ? path : realpathSync(path);
  mkdirSync(dirname(target), { recursive: true });
  const backup = `${target}.backup`;
  if (!isNew) copyFileSync(target, backup);
  const partial = `${target}.${process.pid}.partial`;
  try {
    // Such files hold tokens. A new one is for its owner only.
    writeFileSync(partial, after, { mode: 0o600 });
    if (!isNew) chmodSync(partial, statSync(target).mode & 0o777);
    renameSync(partial, target);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
  return isNew ? undefined : backup;
}
