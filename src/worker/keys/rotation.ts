/**
 * Which keys there are, and from when.
 *
 * @module
 */
import { encodeBase64Url } from "../../core/protocol/bytes.ts";

/** A key as it is stored and given to isolates. */
export interface StoredKey {
  /** 32 bytes in base64url. */
  readonly secret: string;
  /** Epoch milliseconds from which isolates seal with it. Before that they only open. */
  readonly sealsFromMs: number;
}

export interface Rotation {
  /** Milliseconds a key seals. */
  readonly rotateMs: number;
  /** Milliseconds every isolate has to hear of a key before any seals with it. */
  readonly publishMs: number;
  /** Milliseconds a key is kept after it has stopped sealing. */
  readonly keepMs: number;
}

/** The keys there should be now; the same array when those are the ones there are. */
export function rotate(keys: readonly StoredKey[], rotation: Rotation, nowMs: number): readonly StoredKey[] {
  const { rotateMs, publishMs, keepMs } = rotation;
  const newest = keys.at(-1);
  // The first is used at once: there is no isolate that does not know it.
  if (!newest) return [{ secret: newSecret(), sealsFromMs: nowMs }];
  // A key stops sealing when the next one begins.
  const kept = keys.filter((_, place) => (keys[place + 1]?.sealsFromMs ?? Number.POSITIVE_INFINITY) + keepMs > nowMs);
  if (newest.sealsFromMs + rotateMs <= nowMs + publishMs)
    return [...kept, { secret: newSecret(), sealsFromMs: nowMs + publishMs }];
  return kept.length === keys.length ? keys : kept;
}

function newSecret(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}
