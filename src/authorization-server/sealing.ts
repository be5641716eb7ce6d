/**
 * Values that clients and browsers keep for the authorization server: tokens, codes, client ids and cookies. They are sealed
 * with the keys of the endpoint, so nobody can forge one, and a forged one never reaches an object.
 *
 * @module
 */
import { encodeBase64Url, encodeText } from "../core/basics/bytes.ts";
import type { KeyRing } from "../core/seal/key-ring.ts";
import type { KeysOf } from "../worker/services.ts";

/** The purposes of sealed values. A value of one purpose cannot be opened for another. */
export type SealPurpose =
  | "OAuth access token"
  | "OAuth refresh token"
  | "OAuth code"
  | "OAuth client"
  | "OAuth consent"
  | "OAuth sign-in"
  | "OAuth browser"
  | "OAuth upstream tokens";

/**
 * The longest text that is opened, as long as the longest token of a request. Bounds the work for a text that is refused anyway.
 * @limit characters A token, a code, a cookie, or the `client_id` of a registration. A longer one is refused.
 */
export const TEXT_MAX = 16 * 1024;

/** Seals JSON values, and opens them. */
export class Sealing {
  readonly #keys: KeysOf;

  constructor(keys: KeysOf) {
    this.#keys = keys;
  }

  /**
   * Seals a value into characters of base64url.
   *
   * @param bound A text that must be known to open the value, such as the issuer.
   */
  async seal(env: unknown, purpose: SealPurpose, value: unknown, bound: string): Promise<string> {
    return (await this.#keys(env, purpose)).seal(encodeText(JSON.stringify(value)), bound);
  }

  /**
   * Returns a sealed value, or undefined if the text was not sealed here for this purpose and bound text. The type is true
   * because nobody else can seal.
   */
  async open<T>(env: unknown, purpose: SealPurpose, text: string, bound: string): Promise<T | undefined> {
    if (text.length > TEXT_MAX) return undefined;
    return openJson<T>(await this.#keys(env, purpose, text), text, bound);
  }
}

/** Returns the JSON value of a sealed text, or undefined if the ring cannot open it. */
export async function openJson<T>(ring: KeyRing, text: string, bound?: string): Promise<T | undefined> {
  const bytes = await ring.open(text, bound);
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as T);
}

/** Returns a random text of 256 bits in base64url. */
export function newSecret(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Returns a random text of 128 bits in base64url. */
export function newId(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(16)));
}

/** Returns the SHA-256 of a text in base64url. */
export async function hashText(text: string): Promise<string> {
  return encodeBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", encodeText(text))));
}

/** Returns the id of a user: a hash of issuer and subject, so that it reveals neither and is valid in names of objects. */
export async function hashUserId({
  issuer,
  subject,
}: {
  readonly issuer: string;
  readonly subject: string;
}): Promise<string> {
  return (await hashText(JSON.stringify([issuer, subject]))).slice(0, 22);
}
