/**
 * A file-based lock, for processes that share a folder.
 *
 * - The lock is held as long as its file exists. The process that creates the file holds the lock; the file names the holder.
 * - The holder renews the lock by touching the file every few seconds, and removes the file when its work ends.
 * - The lock of a killed process is stale. The next process that needs the lock removes the file: immediately if it can see that the
 *   holder has ended, otherwise when the lock has not been renewed for 30 s.
 * - A suspended holder can lose its lock in this way. It then neither renews nor removes the file of the new holder.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, readFile, readlink, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { OAuthError } from "../client/oauth/errors.ts";

/** How long a lock may go without renewal before it is stale, in milliseconds. Then its process hangs or its machine is off. */
const STALE_MS = 30_000;
/** The time between two renewals, in milliseconds. */
const TOUCH_MS = 5_000;
/** How long the marker of a process that removes a stale file is respected, in milliseconds. A removal takes much less. */
const REMOVAL_MS = 5_000;
/** How long a process waits for the lock, in milliseconds: longer than a user may take to sign in. */
const WAIT_MS = 15 * 60_000;
/** The time between two attempts to acquire the lock, in milliseconds. It doubles from the minimum up to the maximum. */
const [POLL_MIN_MS, POLL_MAX_MS] = [5, 100];

/** The holder of a lock, as stored in its file. */
interface Holder {
  readonly id: string;
  readonly pid: number;
  readonly host: string;
  /** The namespace of the process id. It exists only on Linux, where each container has its own. */
  readonly pidNamespace?: string | undefined;
}

/**
 * Runs `work` while this process holds the lock.
 *
 * @param signal Stops waiting for the lock.
 * @throws {OAuthError} `store-failed` if the lock cannot be acquired in time, or the folder is not writable.
 */
export async function withLock<T>(file: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const holder: Holder = { id: randomUUID(), pid: process.pid, host: hostname(), pidNamespace: await pidNamespace() };
  await acquire(file, holder, signal);
  const renewing = setInterval(() => {
    // If a renewal fails, the next one tries again.
    renew(file, holder).catch(() => undefined);
  }, TOUCH_MS);
  try {
    return await work();
  } finally {
    clearInterval(renewing);
    // If the lock was lost, the file belongs to another process.
    if ((await read(file))?.id === holder.id) await rm(file, { force: true });
  }
}

/** Touches the file, unless it names another holder. */
async function renew(file: string, holder: Holder): Promise<void> {
  // Both steps use the same handle, so that a file that replaces this one in between is not touched.
  const handle = await open(file, "r+");
  try {
    const now = new Date();
    if ((await read(handle))?.id === holder.id) await handle.utimes(now, now);
  } finally {
    await handle.close();
  }
}

async function acquire(file: string, holder: Holder, signal: AbortSignal | undefined): Promise<void> {
  const endsAtMs = Date.now() + WAIT_MS;
  for (let pollMs = POLL_MIN_MS; Date.now() < endsAtMs; pollMs = Math.min(POLL_MAX_MS, pollMs * 2)) {
    signal?.throwIfAborted();
    if (await create(file, JSON.stringify(holder))) return;
    if (await isStale(file, holder)) await removeStale(file, holder);
    // The random factor keeps processes from polling at the same moments.
    else await wait(pollMs * (0.5 + Math.random()));
  }
  throw new OAuthError(
    "store-failed",
    `The lock ${file} is held by another process. Remove the file if no process uses it.`,
  );
}

/** Creates a file with the given text. Returns false if the file exists. */
async function create(file: string, text: string): Promise<boolean> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, "wx", 0o600);
    await handle.writeFile(text);
    return true;
  } catch (cause) {
    // On Windows, access to a file that is being removed is denied.
    if (["EEXIST", "EPERM", "EBUSY"].includes((cause as NodeJS.ErrnoException).code ?? "")) return false;
    throw new OAuthError("store-failed", `The lock ${file} cannot be created: ${(cause as Error).message}.`, { cause });
  } finally {
    await handle?.close();
  }
}

/** Whether the holder has ended, or has not renewed the lock for too long. @param own This process. */
async function isStale(file: string, own: Holder): Promise<boolean> {
  const holder = await read(file);
  // On another machine or in another container, the process id has no meaning here.
  const isNear = holder?.host === own.host && holder.pidNamespace === own.pidNamespace;
  if (isNear && !isRunning(holder.pid)) return true;
  return (await readAge(file)) > STALE_MS;
}

/** Removes a stale file. Processes take turns doing this, so that none removes another process's new file. */
async function removeStale(file: string, own: Holder): Promise<void> {
  const removal = `${file}.removal`;
  if (!(await create(removal, ""))) {
    if ((await readAge(removal)) > REMOVAL_MS) await rm(removal, { force: true });
    else await wait(POLL_MIN_MS);
    return;
  }
  try {
    if (await isStale(file, own)) await rm(file, { force: true });
  } finally {
    await rm(removal, { force: true });
  }
}

/** Returns the holder stored in a file; undefined if the file does not exist or has not been written yet. */
async function read(file: string | FileHandle): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Holder;
  } catch {
    return undefined;
  }
}

/** Returns the time since a file was last touched, in milliseconds; 0 if the file does not exist. */
async function readAge(file: string): Promise<number> {
  try {
    return Date.now() - (await stat(file)).mtimeMs;
  } catch {
    return 0;
  }
}

/** Returns the namespace of this process's id, such as `pid:[4026531836]`; undefined on systems without namespaces. */
async function pidNamespace(): Promise<string | undefined> {
  return readlink("/proc/self/ns/pid").catch(() => undefined);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // If permission to send the signal is denied, the process exists.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
