/**
 * Ids of SSE events. They have the form `tag-stream-event`, with at most 64 visible characters. The tag is a keyed hash of
 * the session and the stream number, so only stream numbers issued to this session are accepted, without storing them.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */

/** A position in a stream: directly after event `seq`. 0 is the beginning of the stream. */
export interface Cursor {
  readonly stream: number;
  readonly seq: number;
}

/** Returns the tag of a stream in one session. */
export type TagOf = (stream: number) => string;

/**
 * Returns the function that computes the tags of one session. The key is the id of the Durable Object, which is secret
 * because only sealed session ids contain it.
 *
 * @param objectId 64 hexadecimal digits.
 * @param session Number of the session within its object.
 */
export function createTags(objectId: string, session: number): TagOf {
  return (stream) => {
    const [high = 0n, low = 0n, ...rest] = (objectId.match(/.{16}/g) ?? []).map((digits) => BigInt(`0x${digits}`));
    return sipHash([high, low], [...rest, BigInt(session), BigInt(stream)]).toString(36);
  };
}

/** Returns an event id. @param tag The tag of the stream. */
export function encodeCursor(tag: string, { stream, seq }: Cursor): string {
  return `${tag}-${stream.toString(36)}-${seq.toString(36)}`;
}

/** Returns the position of an event id, or undefined if the id was not issued to this session. */
export function decodeCursor(text: string, tagOf: TagOf): Cursor | undefined {
  const parts = /^[\da-z]+-([\da-z]{1,11})-([\da-z]{1,10})$/.exec(text);
  if (!parts) return undefined;
  const cursor = { stream: Number.parseInt(parts[1] ?? "", 36), seq: Number.parseInt(parts[2] ?? "", 36) };
  return encodeCursor(tagOf(cursor.stream), cursor) === text ? cursor : undefined;
}

/** Returns whether a stream is standalone. Standalone streams have odd numbers; the streams of calls have even numbers. */
export function isOwnStream(stream: number): boolean {
  return stream % 2 === 1;
}

/**
 * Computes the SipHash-2-4 of 64-bit words. It is synchronous, unlike `crypto.subtle`.
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
  // The highest byte of the last word is the length in bytes.
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
