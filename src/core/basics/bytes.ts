/**
 * Conversions between text and bytes.
 *
 * @module
 */
const encoder = new TextEncoder();

/** Encodes text as UTF-8. */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  // The encoder always returns a new buffer that is not shared, but its declared type is wider.
  return encoder.encode(text) as Uint8Array<ArrayBuffer>;
}

/** Encodes bytes as standard base64 (RFC 4648, section 4). */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  // In slices, because an argument list of megabytes would overflow the stack.
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(binary);
}

/** Whether a string is padded standard base64 (RFC 4648, section 4). */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[a-z\d+/]*={0,2}$/i.test(text);
}

/** Decodes standard base64. @throws {DOMException} if the string is not base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Encodes bytes as base64 for URLs (RFC 4648, section 5), without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Decodes base64 for URLs. Returns undefined for a string that {@link encodeBase64Url} would not produce, so that every
 * value has exactly one valid encoding.
 */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = decodeBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  return encodeBase64Url(bytes) === text ? bytes : undefined;
}

/** Encodes bytes as lower-case hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Decodes hexadecimal digits, two for each byte. */
export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/**
 * Returns a hash of 32 bits (FNV-1a over UTF-16 code units), the same in every isolate. It is not cryptographic:
 * collisions can be constructed on purpose.
 *
 * @param seed The start value. Different seeds give different hashes of the same text.
 * @param mixBits The number of bits by which the high bits are shifted into the low bits, so that two hashes with
 *   different settings do not collide for the same pair of strings. @default 0, which is plain FNV-1a
 */
export function fingerprint(text: string, seed = 0x811c9dc5, mixBits = 0): number {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) ^ (mixBits && hash >>> mixBits);
  }
  return hash >>> 0;
}
