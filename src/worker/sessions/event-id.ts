/**
 * Ids of SSE events: `tag-stream-event`, at most 64 visible characters. The tag is a keyed hash of the session and the
 * number of the stream, so only numbers that this session was given are accepted, although none of them is stored.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */

import { fingerprint } from "../../core/protocol/bytes.ts";

/** A place in a stream: right after event `seq`; 0 is its beginning. */
export interface Cursor {
  readonly stream: number;
  readonly seq: number;
}

/** Gives the tag of a stream of one session. */
export type TagOf = (stream: number) => string;

/**
 * The tags of one session. Their key is the id of its object, which only sealed session ids contain.
 *
 * @param objectId 64 hexadecimal digits.
 * @param session Number of the session within its object.
 */
export function tagsOf(objectId: string, session: number): TagOf {
  return (stream) => {
    const [high = 0n, low = 0n, ...rest] = (objectId.match(/.{16}/g) ?? []).map((digits) => BigInt(`0x${digits}`));
    return sipHash([high, low], [...rest, BigInt(session), BigInt(stream)]).toString(36);
  };
}

/** An event id as text. @param tag Of the stream. */
export function encodeCursor(tag: string, { stream, seq }: Cursor): string {
  return `${tag}-${stream.toString(36)}-${seq.toString(36)}`;
}

/**
 * The place that an event id names, or undefined when the id was not made for this session.
 *
 * @param earlierTag The one tag of the session in ids of version 0.1, which tell nothing about the number of the stream:
 *   `isEarlier` says that the id is one of these.
 */
export function decodeCursor(
  text: string,
  tagOf: TagOf,
  earlierTag: () => string,
): (Cursor & { readonly isEarlier: boolean }) | undefined {
  const parts = /^[0-9a-z]+-([0-9a-z]{1,11})-([0-9a-z]{1,10})$/.exec(text);
  if (!parts) return undefined;
  const cursor = { stream: Number.parseInt(parts[1] ?? "", 36), seq: Number.parseInt(parts[2] ?? "", 36) };
  if (encodeCursor(tagOf(cursor.stream), cursor) === text) return { ...cursor, isEarlier: false };
  return encodeCursor(earlierTag(), cursor) === text ? { ...cursor, isEarlier: true } : undefined;
}

/** Streams of the session itself have odd numbers, those of calls even ones. */
export function isOwnStream(stream: number): boolean {
  return stream % 2 === 1;
}

/** The tag of a session in event ids of version 0.1. Logs and clients may still have some. */
export function earlierTagOf(objectId: string, session: number): string {
  return fingerprint(session === 0 ? objectId : `${objectId} ${session}`).toString(36);
}

/**
 * SipHash-2-4 of whole words of 64 bits, which takes no await as the functions of `crypto.subtle` do.
 *
 * @see https://www.aumasson.jp/siphash/siphash.pdf
 */
export function sipHash([k0, k1]: readonly [bigint, bigint], words: readonly bigint[]): bigint {
  let a = k0 ^ 0x736f6d6570736575n;
  let b = k1 ^ 0x646f72616e646f6dn;
  let c = k0 ^ 0x6c7967656e657261n;
  let d = k1 ^ 0x7465646279746573n;
  const round = () => {
    a = word(a + b);
    b = rotate(b, 13n) ^ a;
    a = rotate(a, 32n);
    c = word(c + d);
    d = rotate(d, 16n) ^ c;
    a = word(a + d);
    d = rotate(d, 21n) ^ a;
    c = word(c + b);
    b = rotate(b, 17n) ^ c;
    c = rotate(c, 32n);
  };
  // The last word is the length in bytes, in its highest byte.
  for (const each of [...words, word(BigInt(words.length * 8) << 56n)]) {
    d ^= each;
    round();
    round();
    a ^= each;
  }
  c ^= 0xffn;
  for (let times = 0; times < 4; times += 1) round();
  return a ^ b ^ c ^ d;
}

function word(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function rotate(value: bigint, bits: bigint): bigint {
  return word(value << bits) | (value >> (64n - bits));
}
