/**
 * A lock in a file, for processes that share a folder.
 *
 * - The lock exists as long as its file does. The process that creates the file holds the lock; the file names its holder.
 * - The holder renews the lock by touching the file every few seconds, and removes the file when its work ends.
 * - The lock of a process that was killed is stale, and the next process that wants the lock removes its file: at once if it
 *   can see that the holder has ended, otherwise when the lock has not been renewed for a while.
 * - A holder that was suspended can lose its lock in this way. It then neither renews nor removes the file of the new holder.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, readFile, readlink, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { OAuthError } from "../client/oauth/errors.ts";

/** A lock that was not renewed for this long is stale: its process hangs, or its machine is off. */
const STALE_MS = 30_000;
/** The time between two renewals. */
const TOUCH_MS = 5_000;
/** The age at which the mark of a process that removes a stale file is ignored. A removal takes much less. */
const REMOVAL_MS = 5_000;
/** How long a process waits for the lock: longer than a user may take to sign in. */
const WAIT_MS = 15 * 60_000;
/** The time between two attempts to get the lock. It doubles from the first to the second value. */
const [POLL_MIN_MS, POLL_MAX_MS] = [5, 100];

/** The holder of a lock, as its file names it. */
interface Holder {
  readonly id: string;
  readonly pid: number;
  readonly host: string;
  /** The namespace that the process id belongs to. Only Linux has one; each container has its own. */
  readonly pidNamespace?: string | undefined;
}

/**
 * Runs `work` while this process has the lock.
 *
 * @param signal Ends the wait for the lock.
 * @throws {OAuthError} `store-failed` if the lock does not become free, or the folder cannot be written.
 */
export async function withLock<T>(file: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const holder: Holder = { id: randomUUID(), pid: process.pid, host: hostname(), pidNamespace: await pidNamespace() };
  await acquire(file, holder, signal);
  const renewing = setInterval(() => {
    // A renewal that fails is repeated by the next one.
    renew(file, holder).catch(() => undefined);
  }, TOUCH_MS);
  try {
    return await work();
  } finally {
    clearInterval(renewing);
    // A lock that was lost belongs to another process now.
    if ((await read(file))?.id === holder.id) await rm(file, { force: true });
  }
}

/** Touches the file, unless it names another holder. */
async function renew(file: string, holder: Holder): Promise<void> {
  // Both steps use one handle, so that a file which replaces this one in between is not touched.
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
    // Several processes that poll at the same moment would disturb each other.
    else await wait(pollMs * (0.5 + Math.random()));
  }
  throw new OAuthError("store-failed", `The lock ${file} is not free. Remove the file if no process uses it.`);
}

/** Creates a file with a text. Returns false if the file exists. */
async function create(file: string, text: string): Promise<boolean> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, "wx", 0o600);
    await handle.writeFile(text);
    return true;
  } catch (cause) {
    // On Windows, a file that is being removed refuses access.
    if (["EEXIST", "EPERM", "EBUSY"].includes((cause as NodeJS.ErrnoException).code ?? "")) return false;
    throw new OAuthError("store-failed", `The lock ${file} cannot be created: ${(cause as Error).message}.`, { cause });
  } finally {
    await handle?.close();
  }
}

/** Whether the holder has ended, or has not renewed its lock for too long. @param own This process. */
async function isStale(file: string, own: Holder): Promise<boolean> {
  const holder = await read(file);
  // Elsewhere, the same process id stands for another process or for none.
  const isNear = holder?.host === own.host && holder.pidNamespace === own.pidNamespace;
  if (isNear && !isRunning(holder.pid)) return true;
  return (await readAge(file)) > STALE_MS;
}

/** Removes a stale file. Processes that do so take turns, so that none removes the new file of another. */
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

/** Returns the holder that a file names. Undefined if there is no file, or if the holder has not written its name yet. */
async function read(file: string | FileHandle): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Holder;
  } catch {
    return undefined;
  }
}

/** Returns the time, in milliseconds, since a file was touched; 0 if the file does not exist. */
async function readAge(file: string): Promise<number> {
  try {
    return Date.now() - (await stat(file)).mtimeMs;
  } catch {
    return 0;
  }
}

/** Returns the namespace of this process's id, such as `pid:[4026531836]`. Undefined where there are no namespaces. */
async function pidNamespace(): Promise<string | undefined> {
  return readlink("/proc/self/ns/pid").catch(() => undefined);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Without the right to send a signal, the process exists.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
