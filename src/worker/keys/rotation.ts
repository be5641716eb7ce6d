/**
 * Decides when keys are created, begin to seal and are deleted.
 *
 * @module
 */
import { encodeBase64Url } from "../../core/basics/bytes.ts";

/** A key as it is stored and sent to isolates. */
export interface StoredKey {
  /** 32 bytes in base64url. */
  readonly secret: string;
  /** When isolates begin to seal with this key, in milliseconds since 1970. Before that, they only open with it. */
  readonly sealsFromMs: number;
}

export interface Rotation {
  /** How long a key seals, in milliseconds. */
  readonly rotateMs: number;
  /**
   * The time between the creation of a key and its first use, in milliseconds, so that every isolate has refreshed its keys
   * by then.
   */
  readonly publishMs: number;
  /** How long a key is kept after it has stopped sealing, in milliseconds. */
  readonly ttlMs: number;
}

/** Returns the keys that should exist now, or the same array if nothing changes. */
export function rotate(keys: readonly StoredKey[], rotation: Rotation, nowMs: number): readonly StoredKey[] {
  const { rotateMs, publishMs, ttlMs } = rotation;
  const newest = keys.at(-1);
  // The first key seals immediately: no isolate has older keys.
  if (!newest) return [{ secret: newSecret(), sealsFromMs: nowMs }];
  // A key stops sealing when the next one begins.
  const kept = keys.filter((_, at) => (keys[at + 1]?.sealsFromMs ?? Infinity) + ttlMs > nowMs);
  if (newest.sealsFromMs + rotateMs <= nowMs + publishMs)
    return [...kept, { secret: newSecret(), sealsFromMs: nowMs + publishMs }];
  return kept.length === keys.length ? keys : kept;
}

function newSecret(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}
