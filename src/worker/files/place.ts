/**
 * Where the files of an endpoint are: its objects, its bucket and its links.
 *
 * @module
 */
import type { Principal } from "../../core/protocol/client-facts.ts";
import type { ContentFacts } from "../../files/content-facts.ts";
import { type ObjectStub, type RoleObjects, unavailable } from "../bindings.ts";
import { retryOnReset } from "../retry-on-reset.ts";
import type { FilesPolicy, FilesRpc, FoundStored, Stored } from "./files-object.ts";
import { findOwner, type Links } from "./links.ts";

/** The settings of `files()`, complete. */
export interface FilesSettings extends FilesPolicy {
  readonly path: string;
  readonly bytesMax: number;
  readonly uploadMs: number;
  readonly linkMs: number;
  readonly waitMs: number;
}

/** The place of an endpoint's files. */
export interface Place {
  readonly settings: FilesSettings;
  readonly links: Links;
  readonly objects: RoleObjects<FilesRpc>;
  /** The small files that this isolate is receiving, and so has in memory, by their id. */
  readonly receiving: Map<string, Receiving>;
}

/** A small file whose upload is in progress. */
export interface Receiving {
  readonly owner: string;
  /** When it is no longer counted, in milliseconds since 1970: the platform may have ended its request, without any cleanup. */
  readonly untilMs: number;
}

/**
 * The maximum number of bytes of a file that an object stores.
 * @limit bytes A file that is stored in an object instead of the bucket. Without a bucket, a larger file is refused.
 */
export const SMALL_BYTES_MAX = 1_000_000;

/**
 * The maximum number of small files that an isolate receives at once, because each of them is in memory.
 * @limit count Uploads of at most 1 MB that one isolate receives at the same time. Another one is refused with 503.
 */
export const RECEIVING_MAX = 64;
/**
 * The maximum for one caller, so that others can upload files at the same time.
 * @limit count Uploads of at most 1 MB by one principal that one isolate receives at the same time. Another one is refused
 * with 503.
 */
export const OWN_RECEIVING_MAX = 8;
/**
 * The maximum for all callers without a principal together, so that they cannot keep authenticated callers from uploading.
 * @limit count Uploads of at most 1 MB by callers without a principal that one isolate receives at the same time. Another one is
 * refused with 503.
 */
export const ANONYMOUS_RECEIVING_MAX = 32;
/**
 * The maximum duration of the upload of a small file, in milliseconds.
 * @limit ms The duration of an upload of at most 1 MB. A slower one is refused.
 */
export const SMALL_MS = 60_000;

/**
 * The maximum time between two chunks of an upload, in milliseconds.
 * @limit ms The time in which an upload must send more content. An upload that stops for longer is refused, and its place is
 * free again.
 */
export const IDLE_MS = 30_000;

/**
 * The number of bytes of a refused upload that are read nevertheless. Clients have often sent them before the refusal arrives, and
 * could otherwise not use their connection again. The rest of a longer upload is not read.
 * @limit internal
 */
export const REST_BYTES_MAX = 4_000_000;

/** Returns the object of an owner. */
export function objectOf({ objects }: Place, owner: string, env: unknown): ObjectStub {
  return objects.named(env, `files:${owner}`);
}

/** Uses the bucket. @throws {McpError} that asks the client to try again, as calls of objects do, if the bucket fails. */
export function useBucket<T>(use: () => Promise<T>): Promise<T> {
  return use().catch((error: unknown) => {
    throw unavailable(error);
  });
}

/** Returns the largest file that can be uploaded. */
export function largestFile({ settings }: Place, env: unknown): number {
  return settings.bucket(env) ? settings.bytesMax : Math.min(settings.bytesMax, SMALL_BYTES_MAX);
}

/** Returns a file of the caller, or undefined. A file of another principal is not found. */
export async function findFile(
  place: Place,
  id: string,
  principal: Principal | undefined,
  env: unknown,
): Promise<(FoundStored & { readonly owner: string }) | undefined> {
  const owner = await findOwner(principal, id);
  const found = await retryOnReset(() => place.objects.call(objectOf(place, owner, env), "find", id, "all"));
  return found && { ...found, owner };
}

/** Content that is about to be stored. */
export interface Incoming {
  readonly owner: string;
  readonly id: string;
  /** The number of bytes, which must be exact. */
  readonly bytes: number;
  readonly body: ReadableStream<Uint8Array>;
  /** How long the content may pause, in milliseconds. */
  readonly idleMs: number;
  /** Content of at most this number of bytes is read to its end even if it is refused. */
  readonly restMax: number;
  /** When the last link to upload it ends, in milliseconds since 1970. 0 if there is none. */
  readonly linkUntilMs: number;
  /**
   * Decides by the content which name and type the file has, or why it is refused. Large content is judged by its first bytes
   * too, so that the rest of a file that will be refused is neither read nor stored.
   */
  judge(facts: ContentFacts): { readonly name: string; readonly type: string } | { readonly problem: string };
}

/** The result of storing content: the name and type, or why it was not stored. */
export type Outcome =
  | { readonly kind: "stored"; readonly name: string; readonly type: string }
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: Exclude<Stored, "ok"> | "interrupted" | "slow" | "no-bucket" | "overloaded" };
