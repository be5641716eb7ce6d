/**
 * Changes a file of a host, and keeps the previous one beside it.
 *
 * The file may stand in a project that a stranger made, so a link in a project is never followed, and every file that is
 * created is a new one with a name that nobody can foresee. Processes that change the same file take turns.
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

/** Returns the path at which the file of a host is, and its text. @throws {CliError} if it must not or cannot be used. */
export function readHostFile(
  { path, scope }: HostFile,
  folder: string,
): { readonly path: string; readonly text: string } {
  const target = scope === "project" ? findTarget(path, { within: folder, links: "refused" }) : findTarget(path);
  return { path: target, text: readText(target) ?? "" };
}

/**
 * Replaces the text of a file in one step, so that no host reads half of it.
 *
 * @param path The path that {@link readHostFile} returned.
 * @param change Returns the new text for the text that the file has now, which may have changed since it was read.
 * @returns The path of the copy of the previous file, or undefined if there was none.
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
      // Such files hold tokens. A new one is for its owner only.
      writeWhole(path, after, 0o600);
      return copy;
    } catch (error) {
      if (error instanceof CliError) throw error;
      throw new CliError(Exit.usage, `${path} cannot be written: ${(error as Error).message}`);
    }
  };
  return withLock(join(locks, `${name}.lock`), work, signal);
}
