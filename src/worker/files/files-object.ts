/**
 * The object that stores the files of one principal, or of some callers without a principal.
 *
 * | key | value | written | deleted |
 * | --- | --- | --- | --- |
 * | `files/file/<id>` | {@link StoredFile} | once for a small file; twice for a file in the bucket: before and after its upload | by an alarm after its time, or by a handler |
 * | `files/body/<id>` | the bytes of a small file | with the file | with the file |
 *
 * An upload into the bucket is reserved first, so that parallel uploads cannot exceed the bounds, and so that what an
 * interrupted upload has left in the bucket is deleted.
 *
 * @module
 */
import { KitError } from "../../core/protocol/errors.ts";
import type { ContentFacts } from "../../files/content-facts.ts";
import type { RoleObject } from "../object.ts";
import { findRange } from "./range.ts";

/** What is known about the content of a file. */
export interface FileDetails {
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  readonly facts: ContentFacts;
}

/** A file, as it is stored. */
export interface StoredFile extends FileDetails {
  /** `uploading`: the bucket may have a part of it. `gone`: deleted, and kept so that its link cannot be used again. */
  readonly state: "uploading" | "stored" | "gone";
  /** When it is deleted, in milliseconds since 1970. */
  readonly untilMs: number;
  /** When the last link to upload it ends, in milliseconds since 1970. */
  readonly linkUntilMs: number;
  /** The key in the bucket. Undefined for a small file. */
  readonly key?: string | undefined;
}

/** A file that is found, with its bytes if the object stores them, and if they were asked for. */
export interface FoundStored extends StoredFile {
  readonly body?: Uint8Array<ArrayBuffer> | undefined;
}

/** Which bytes of a small file leave its object: all, none, or those that the value of a Range header asks for. */
export type Wanted = "all" | "none" | { readonly range: string };

/** The result of an attempt to store a file: `used` and `busy` if the id has, or is about to have, a file. */
export type Stored = "ok" | "used" | "busy" | "full";

/** A place for a file that is about to be uploaded into the bucket. */
export interface Reservation {
  readonly bytes: number;
  readonly key: string;
  readonly untilMs: number;
  readonly linkUntilMs: number;
}

/** The methods that the Worker calls. */
export interface FilesRpc {
  /** Stores a small file. A repetition with the same content has the same result, because an answer may be lost. */
  store(id: string, file: FileDetails, body: Uint8Array<ArrayBuffer>, linkUntilMs: number): Promise<Stored>;
  /** Reserves a place for a file in the bucket. A repetition with the same key has the same result. */
  reserve(id: string, reservation: Reservation): Promise<Stored>;
  /** Marks a reserved file as uploaded. Returns false if the reservation has ended. */
  commit(id: string, key: string, file: FileDetails): Promise<boolean>;
  /** Ends a reservation whose upload has failed, after the Worker has deleted what the bucket had. */
  release(id: string, key: string): Promise<void>;
  /** Returns a file that is stored, or undefined. */
  find(id: string, wanted: Wanted): Promise<FoundStored | undefined>;
  /** Returns whether the id of a link can still be used. */
  isFree(id: string): Promise<boolean>;
  /** Deletes a file. */
  remove(id: string): Promise<void>;
}

/** The bounds of one object. */
export interface FilesPolicy {
  readonly filesMax: number;
  readonly totalBytesMax: number;
  readonly ttlMs: number;
  bucket(env: unknown): R2Bucket | undefined;
}

const FILE = "files/file/";
const BODY = "files/body/";
/**
 * The maximum number of entries, including those that only keep a link from being used again.
 * @limit count Files and used links of one principal. When it is reached, uploads are refused until links have ended.
 */
const ENTRIES_MAX = 2_000;
/**
 * How long a used id is remembered after its link has ended, in milliseconds. An upload that has begun before the end may arrive
 * up to `SMALL_MS` later, and clocks differ.
 */
const LATE_MS = 120_000;
/** The minimum time between two deletions of expired files, in milliseconds. Expired files are not found in between. */
const SWEEP_MS = 60_000;

export class FilesObject implements RoleObject, FilesRpc {
  readonly #storage: DurableObjectStorage;
  readonly #env: unknown;
  readonly #policy: FilesPolicy;
  readonly #files: Map<string, StoredFile>;
  #alarmAtMs: number | undefined;

  constructor({ storage }: DurableObjectState, env: unknown, policy: FilesPolicy) {
    this.#storage = storage;
    this.#env = env;
    this.#policy = policy;
    const stored = [...storage.kv.list<StoredFile>({ prefix: FILE })];
    this.#files = new Map(stored.map(([key, file]) => [key.slice(FILE.length), file]));
  }

  async store(id: string, file: FileDetails, body: Uint8Array<ArrayBuffer>, linkUntilMs: number): Promise<Stored> {
    if (this.#isSame(id, file, body)) return "ok";
    const outcome = this.#check(id, file.bytes);
    if (outcome !== "ok") return outcome;
    this.#storage.kv.put(BODY + id, body);
    await this.#keep(id, { ...file, state: "stored", untilMs: this.#endMs, linkUntilMs });
    return "ok";
  }

  async reserve(id: string, { bytes, key, untilMs, linkUntilMs }: Reservation): Promise<Stored> {
    // The Worker repeats a call whose answer was lost.
    if (this.#isReserved(id, key)) return "ok";
    const outcome = this.#check(id, bytes);
    if (outcome !== "ok") return outcome;
    const facts: ContentFacts = { isText: false };
    await this.#keep(id, { name: "", type: "", bytes, facts, state: "uploading", untilMs, linkUntilMs, key });
    return "ok";
  }

  async commit(id: string, key: string, file: FileDetails): Promise<boolean> {
    const reserved = this.#files.get(id);
    // The Worker repeats a call whose answer was lost.
    if (reserved?.state === "stored" && reserved.key === key) return true;
    if (!reserved || !this.#isReserved(id, key)) return false;
    await this.#keep(id, { ...reserved, ...file, state: "stored", untilMs: this.#endMs });
    return true;
  }

  async release(id: string, key: string): Promise<void> {
    const found = this.#files.get(id);
    if (found?.state === "uploading" && found.key === key) await this.#forget(id);
  }

  async find(id: string, wanted: Wanted): Promise<FoundStored | undefined> {
    const found = this.#files.get(id);
    if (found?.state !== "stored" || found.untilMs <= Date.now()) return undefined;
    if (found.key !== undefined || wanted === "none") return found;
    const range = typeof wanted === "object" ? findRange(wanted.range, found.bytes) : undefined;
    if (range === "unsatisfiable") return found;
    const body = this.#storage.kv.get<Uint8Array<ArrayBuffer>>(BODY + id);
    // A copy, because a view of the bytes would send all of them.
    return { ...found, body: range && body ? body.slice(range.offset, range.offset + range.length) : body };
  }

  async isFree(id: string): Promise<boolean> {
    const found = this.#files.get(id);
    return found === undefined || found.state === "uploading";
  }

  async remove(id: string): Promise<void> {
    const found = this.#files.get(id);
    if (found?.state !== "stored") return;
    if (found.key !== undefined) await this.#bucket().delete(found.key);
    if (this.#files.get(id) === found) await this.#end(id, found);
  }

  /** Deletes what has expired, first from the bucket, so that nothing is forgotten there. */
  async alarm(): Promise<void> {
    this.#alarmAtMs = undefined;
    const nowMs = Date.now();
    const expired = [...this.#files].filter(([, { untilMs }]) => untilMs <= nowMs);
    const keys = expired.flatMap(([, { key, state }]) => (key === undefined || state === "gone" ? [] : [key]));
    const isDeleted = await this.#deleteFromBucket(keys);
    for (const [id, file] of expired) {
      const canEnd = isDeleted || file.key === undefined;
      if (canEnd && this.#files.get(id) === file) await this.#end(id, file);
    }
    if (!isDeleted) return this.#wakeAt(nowMs + SWEEP_MS);
    const ends = [...this.#files.values()].map(({ untilMs }) => untilMs);
    // Files that expire within one sweep are deleted together, when the last of them has expired.
    if (ends.length > 0) await this.#wakeAt(Math.max(Math.min(...ends), Math.min(Math.max(...ends), nowMs + SWEEP_MS)));
  }

  /** Returns false if the bucket has failed, or is missing. */
  async #deleteFromBucket(keys: readonly string[]): Promise<boolean> {
    try {
      for (let at = 0; at < keys.length; at += KEYS_MAX) await this.#bucket().delete(keys.slice(at, at + KEYS_MAX));
      return true;
    } catch (error) {
      console.error(
        "mcp-edge: expired files could not be deleted from the bucket of files(); it is tried again",
        error,
      );
      return false;
    }
  }

  get #endMs(): number {
    return Date.now() + this.#policy.ttlMs;
  }

  /** Whether the same content is stored under this id with the same name and type. */
  #isSame(id: string, { name, type, bytes }: FileDetails, body: Uint8Array): boolean {
    const found = this.#files.get(id);
    if (found?.state !== "stored" || found.key !== undefined || found.untilMs <= Date.now()) return false;
    if (found.name !== name || found.type !== type || found.bytes !== bytes) return false;
    const stored = this.#storage.kv.get<Uint8Array<ArrayBuffer>>(BODY + id);
    return stored?.every((byte, at) => byte === body[at]) ?? false;
  }

  /** Whether a file of this size may be stored under this id. */
  #check(id: string, bytes: number): Stored {
    const found = this.#files.get(id);
    if (found) return found.state === "uploading" ? "busy" : "used";
    const kept = [...this.#files.values()].filter(({ state }) => state !== "gone");
    const total = kept.reduce((sum, file) => sum + file.bytes, bytes);
    const { filesMax, totalBytesMax } = this.#policy;
    const hasRoom = kept.length < filesMax && total <= totalBytesMax && this.#files.size < ENTRIES_MAX;
    return hasRoom ? "ok" : "full";
  }

  #isReserved(id: string, key: string): boolean {
    const found = this.#files.get(id);
    return found?.state === "uploading" && found.key === key && found.untilMs > Date.now();
  }

  /** Stores an entry, and sets the alarm that deletes it, in one transaction. */
  async #keep(id: string, file: StoredFile): Promise<void> {
    const before = this.#files.get(id);
    try {
      this.#storage.kv.put(FILE + id, file);
      this.#files.set(id, file);
      await this.#wakeAt(file.untilMs);
    } catch (error) {
      // Without an entry or an alarm, it would never be deleted.
      if (before) this.#files.set(id, before);
      else this.#files.delete(id);
      this.#storage.kv.delete(BODY + id);
      if (before) this.#storage.kv.put(FILE + id, before);
      else this.#storage.kv.delete(FILE + id);
      throw error;
    }
  }

  /** Deletes a file, and keeps its id while a link to upload it exists. */
  async #end(id: string, file: StoredFile): Promise<void> {
    if (file.key === undefined && file.state === "stored") this.#storage.kv.delete(BODY + id);
    const { facts, linkUntilMs } = file;
    const untilMs = linkUntilMs + LATE_MS;
    if (file.state !== "stored" || untilMs <= Date.now()) return this.#forget(id);
    await this.#keep(id, { state: "gone", name: "", type: "", bytes: 0, facts, untilMs, linkUntilMs });
  }

  async #forget(id: string): Promise<void> {
    this.#files.delete(id);
    this.#storage.kv.delete(FILE + id);
    // Even an empty database occupies storage.
    if (this.#files.size === 0) {
      this.#alarmAtMs = undefined;
      await this.#storage.deleteAll();
    }
  }

  /** Sets the alarm unless an earlier one is set. */
  async #wakeAt(atMs: number): Promise<void> {
    this.#alarmAtMs ??= (this.#files.size > 0 ? await this.#storage.getAlarm() : undefined) ?? Infinity;
    if (this.#alarmAtMs <= atMs) return;
    this.#alarmAtMs = atMs;
    await this.#storage.setAlarm(atMs).catch((error: unknown) => {
      this.#alarmAtMs = undefined;
      throw error;
    });
  }

  #bucket(): R2Bucket {
    const bucket = this.#policy.bucket(this.#env);
    if (bucket) return bucket;
    throw new KitError("binding-missing", "files(): the bucket of stored files is missing. Add its binding again.");
  }
}

/** The maximum number of keys that R2 deletes at once. @limit internal */
const KEYS_MAX = 1_000;
