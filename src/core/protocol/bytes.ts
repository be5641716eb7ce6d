/**
 * Texts as bytes, and bytes as texts.
 *
 * @module
 */
const encoder = new TextEncoder();

/** Encodes a text as UTF-8. */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  // The encoder returns a buffer of its own that is never shared; its type is less precise.
  return encoder.encode(text) as Uint8Array<ArrayBuffer>;
}

/** Standard base64 (RFC 4648, section 4). */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  // In slices: an argument list of megabytes overflows the stack.
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(binary);
}

/** Whether a text is standard base64, padded (RFC 4648, section 4). One pass, also over megabytes. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** @throws {DOMException} when it is not base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Base64 for URLs (RFC 4648, section 5), without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Undefined for anything but the one spelling {@link encodeBase64Url} gives, so that a value has exactly one text. */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = decodeBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  return encodeBase64Url(bytes) === text ? bytes : undefined;
}

/** Two small hexadecimal digits a byte. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param hex Pairs of digits. */
export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/**
 * Returns a hash of 32 bits (FNV-1a over UTF-16 code units), the same in every isolate. It is not cryptographic:
 * collisions can be constructed on purpose.
 *
 * @param seed Another seed gives another number for the same text.
 * @param mixBits Folds the high bits into the low ones by this many places, so that two numbers of one text do not
 *   collide together. @default 0, which is plain FNV-1a
 */
export function fingerprint(text: string, seed = 0x811c9dc5, mixBits = 0): number {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) {
    const mixed = mixBits === 0 ? 0 : hash >>> mixBits;
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) ^ mixed;
  }
  return hash >>> 0;
}
