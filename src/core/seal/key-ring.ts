/**
 * The sealing keys. A sealed value is `layout | key id | nonce | AES-GCM ciphertext` in base64url. The layout and key
 * id are authenticated too, so a value with any changed bit is refused.
 *
 * @module
 */
import { decodeBase64Url, encodeBase64Url, encodeText } from "../basics/bytes.ts";
import { KitError } from "../protocol/errors.ts";

/** The variable or secret that holds the keys. */
export const KEYS_VARIABLE = "MCP_KEYS";

const KEY_BYTES = 32;
const KEY_ID_BYTES = 3;
const NONCE_BYTES = 12;
const HEAD_BYTES = 1 + KEY_ID_BYTES;
/**
 * The first byte of a sealed value. A new layout gets a new number, and values of the old layout stay readable until
 * they expire.
 */
const LAYOUT = 1;

interface SealingKey {
  readonly id: Uint8Array<ArrayBuffer>;
  readonly aes: CryptoKey;
}

/** The keys for one purpose. The first key seals values; every key opens them. */
export class KeyRing {
  readonly #first: SealingKey;
  readonly #keys: readonly SealingKey[];

  private constructor(first: SealingKey, keys: readonly SealingKey[]) {
    this.#first = first;
    this.#keys = keys;
  }

  /**
   * Reads the list of keys: 32 bytes each in base64 or base64url, separated by commas or white space. Put a new key
   * first, and keep the old keys until everything that they sealed has expired.
   *
   * @param purpose A value sealed for one purpose cannot be opened for another.
   * @throws {KitError} `keys-invalid` naming the position in the list, without the key itself.
   */
  static async parse(list: string, purpose: string): Promise<KeyRing> {
    const secrets = list.split(/[\s,]+/).filter((text) => text !== "");
    const keys = await Promise.all(secrets.map((text, index) => deriveKey(decodeSecret(text, index), purpose)));
    const [first] = keys;
    if (!first) throw new KitError("keys-invalid", `${KEYS_VARIABLE} is empty. Make a key with: npx mcp-edge keys`);
    return new KeyRing(first, keys);
  }

  /** Returns a ring with one random key, for values that need not outlive this process. */
  static async ephemeral(purpose: string): Promise<KeyRing> {
    const key = await deriveKey(crypto.getRandomValues(new Uint8Array(KEY_BYTES)), purpose);
    return new KeyRing(key, [key]);
  }

  /**
   * Seals bytes into visible ASCII characters: 4/3 of the number of bytes plus 32.
   *
   * @param bound Additional authenticated data, which the sealed value does not contain. The value can only be opened
   *   with the same text.
   */
  async seal(plain: Uint8Array<ArrayBuffer>, bound = ""): Promise<string> {
    const head = Uint8Array.of(LAYOUT, ...this.#first.id);
    const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const options = { name: "AES-GCM", iv, additionalData: concat(head, encodeText(bound)) };
    const sealed = await crypto.subtle.encrypt(options, this.#first.aes, plain);
    return encodeBase64Url(concat(head, iv, new Uint8Array(sealed)));
  }

  /** Whether a sealed value names one of these keys. The value is not verified. */
  knows(text: string): boolean {
    const bytes = decodeBase64Url(text);
    return bytes !== undefined && this.#find(bytes) !== undefined;
  }

  /**
   * Returns the original bytes, or undefined if they were not sealed by one of these keys for this purpose and bound
   * text.
   */
  async open(text: string, bound = ""): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bytes = decodeBase64Url(text);
    const key = bytes && this.#find(bytes);
    if (!bytes || !key) return undefined;
    const head = bytes.subarray(0, HEAD_BYTES);
    const iv = bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
    try {
      const options = { name: "AES-GCM", iv, additionalData: concat(head, encodeText(bound)) };
      const plain = await crypto.subtle.decrypt(options, key.aes, bytes.subarray(HEAD_BYTES + NONCE_BYTES));
      return new Uint8Array(plain);
    } catch {
      // The tag does not match, so the value was forged or altered.
      return undefined;
    }
  }

  #find(bytes: Uint8Array): SealingKey | undefined {
    if (bytes.length <= HEAD_BYTES + NONCE_BYTES || bytes[0] !== LAYOUT) return undefined;
    return this.#keys.find(({ id }) => id.every((byte, index) => byte === bytes[index + 1]));
  }
}

function decodeSecret(text: string, index: number): Uint8Array<ArrayBuffer> {
  const bytes = decodeBase64Url(text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""));
  if (bytes?.length === KEY_BYTES) return bytes;
  throw new KitError(
    "keys-invalid",
    `Key ${index + 1} of ${KEYS_VARIABLE} is not ${KEY_BYTES} bytes in base64. Make one with: npx mcp-edge keys`,
  );
}

/** Derives a key for a purpose (HKDF, RFC 5869), and an id that identifies the secret without revealing it. */
async function deriveKey(secret: Uint8Array<ArrayBuffer>, purpose: string): Promise<SealingKey> {
  const label = (text: string) => encodeText(`mcp-edge ${text}`);
  const base = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey", "deriveBits"]);
  const hkdf = (info: string) => ({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: label(info) });
  const [idBits, aes] = await Promise.all([
    crypto.subtle.deriveBits(hkdf("key id"), base, KEY_ID_BYTES * 8),
    crypto.subtle.deriveKey(hkdf(purpose), base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]),
  ]);
  return { id: new Uint8Array(idBits), aes };
}

function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
