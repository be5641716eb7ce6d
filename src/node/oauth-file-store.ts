import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { OAuthStore } from "../client/oauth/store.ts";
import { Turns } from "../core/basics/turns.ts";
import { isObject } from "../core/protocol/jsonrpc.ts";
import { withLock } from "./oauth-file-lock.ts";
import { renameWhenFree } from "./plain-file.ts";

/** Matches the name of a draft: a temporary file that is renamed to replace a value. */
const DRAFT = /\.json\.[\da-f-]{36}$/;
/** The age at which an abandoned draft is removed, in milliseconds. Writing one takes much less. */
const DRAFT_MS = 60_000;

/**
 * Returns a store in a folder, which any number of processes can share; one of them refreshes the tokens for all. Each value is a
 * file that only its owner can read (mode 0600; on Windows, the permissions of the folder apply). Files are replaced atomically, so
 * a process that is killed leaves either the old value or the new one.
 *
 * Reading does not create anything: if the folder does not exist, the store is empty.
 *
 * After a process was killed, its lock is free at once for processes on the same machine and in the same container, and after 30 s
 * for other processes. The methods of the store reject if the folder cannot be read or written.
 *
 * @param folder The path of a folder on a local disk that is used for nothing else. Created with mode 0700 if it does not exist.
 */
export function fileStore(folder: string): OAuthStore {
  const turns = new Turns();
  const toFile = (key: string) => join(folder, createHash("sha256").update(key).digest("hex").slice(0, 40));
  const createFolder = () => mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    async get(key) {
      return readValue(`${toFile(key)}.json`);
    },
    async set(key, value) {
      const file = `${toFile(key)}.json`;
      if (value === undefined) await rm(file, { force: true });
      else {
        await createFolder();
        await replace(file, JSON.stringify({ key, value }));
      }
    },
    exclusive: (key, work, signal) => {
      return turns.run(key, async () => {
        const lock = `${toFile(key)}.lock`;
        await createFolder();
        await removeDrafts(folder);
        return withLock(lock, work, signal);
      });
    },
  };
}

async function readValue(file: string): Promise<string | undefined> {
  try {
    const content: unknown = JSON.parse(await readFile(file, "utf8"));
    return isObject(content) && typeof content.value === "string" ? content.value : undefined;
  } catch (error) {
    // If the file is missing or damaged, the user signs in again.
    const isMissing = ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
    if (error instanceof SyntaxError || isMissing) return undefined;
    throw error;
  }
}

/** Removes the drafts of processes that were killed while writing. */
async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!DRAFT.test(name)) continue;
    const draft = join(folder, name);
    // Another process may have removed it.
    const { mtimeMs } = await stat(draft).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (Date.now() - mtimeMs > DRAFT_MS) await rm(draft, { force: true });
  }
}

/** Replaces a file atomically. Resolves when it is on disk. */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await renameWhenFree(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
