/**
 * Changes a host's configuration file, and keeps a backup of the previous file beside it.
 *
 * The file may be in an untrusted project, so links in a project are not followed, and temporary files get unpredictable names.
 * Processes that change the same file take turns.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { withLock } from "../../node/oauth-file-lock.ts";
import { CliError, Exit } from "../exit.ts";
import { copyBeside, findTarget, readText, writeWhole } from "../files/files.ts";
import { configFolder } from "../server/config-folder.ts";
import type { HostFile } from "./files.ts";

/** Returns the real path of a host's file, and its text. @throws {CliError} if the file must not or cannot be used. */
export function readHostFile(
  { path, scope }: HostFile,
  folder: string,
): { readonly path: string; readonly text: string } {
  const target = scope === "project" ? findTarget(path, { within: folder, links: "refused" }) : findTarget(path);
  return { path: target, text: readText(target) ?? "" };
}

/**
 * Replaces the text of a file atomically, so that a host never reads an incomplete file.
 *
 * @param path The path returned by {@link readHostFile}.
 * @param change Returns the new text. It receives the current text, which may have changed since it was last read.
 * @returns The path of the backup; undefined if the file did not exist.
 * @throws {CliError} if the file cannot be written.
 */
export async function changeFile(
  path: string,
  change: (text: string) => string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const locks = join(configFolder(process.env), "locks");
  mkdirSync(locks, { recursive: true, mode: 0o700 });
  const name = createHash("sha256").update(path).digest("hex").slice(0, 32);
  const work = async () => {
    const before = readText(path);
    const after = change(before ?? "");
    try {
      mkdirSync(dirname(path), { recursive: true });
      const copy = before === undefined ? undefined : copyBeside(path);
      // Such files may contain tokens, so only the owner may read a new one.
      writeWhole(path, after, 0o600);
      return copy;
    } catch (error) {
      if (error instanceof CliError) throw error;
      throw new CliError(Exit.usage, `${path} cannot be written: ${(error as Error).message}`);
    }
  };
  return withLock(join(locks, `${name}.lock`), work, signal);
}
