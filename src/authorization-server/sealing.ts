/**
 * Values that clients and browsers store for the authorization server: tokens, codes, client ids and cookies. They are sealed
 * with the keys of the endpoint, so they cannot be forged, and a forged value is refused before any object is requested.
 *
 * @module
 */
import { encodeBase64Url, encodeText } from "../core/basics/bytes.ts";
import type { KeyRing } from "../core/seal/key-ring.ts";
import type { KeysOf } from "../worker/services.ts";
import type { SignedInUser } from "./identity/provider.ts";

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
 * The maximum length of a sealed value, which is also the maximum length of a token in a request. It bounds the work for
 * values that are refused anyway.
 * @limit characters A token, a code, a cookie, or the `client_id` of a registered client. A longer value is refused.
 */
export const TEXT_MAX = 16 * 1024;

/** Seals JSON values, and opens them. */
export class Sealing {
  readonly #keys: KeysOf;

  constructor(keys: KeysOf) {
    this.#keys = keys;
  }

  /**
   * Seals a value, and returns it in base64url.
   *
   * @param bound A string that must also be given to open the value, such as the issuer.
   */
  async seal(env: unknown, purpose: SealPurpose, value: unknown, bound: string): Promise<string> {
    return (await this.#keys(env, purpose)).seal(encodeText(JSON.stringify(value)), bound);
  }

  /**
   * Opens a sealed value. Returns undefined if it was not sealed by this endpoint for the same purpose and `bound`. The value
   * is not validated, because only this endpoint can seal values.
   */
  async open<T>(env: unknown, purpose: SealPurpose, text: string, bound: string): Promise<T | undefined> {
    if (text.length > TEXT_MAX) return undefined;
    return openJson<T>(await this.#keys(env, purpose, text), text, bound);
  }
}

/** Opens a sealed JSON value. Returns undefined if the keys do not open it. */
export async function openJson<T>(ring: KeyRing, text: string, bound?: string): Promise<T | undefined> {
  const bytes = await ring.open(text, bound);
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as T);
}

/** Returns 256 random bits in base64url. */
export function newSecret(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Returns 128 random bits in base64url. */
export function newId(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(16)));
}

/** Returns the SHA-256 hash of a string in base64url. */
export async function hashText(text: string): Promise<string> {
  return encodeBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", encodeText(text))));
}

/** Returns the id of a user. It is a hash of what identifies the user, so it reveals nothing, and can be part of an object's name. */
export async function hashUserId(user: Pick<SignedInUser, "issuer" | "tenant" | "subject">): Promise<string> {
  // The number of members differs, so that no subject looks like a tenant and another subject.
  const members = [user.issuer, user.tenant ?? [], user.subject].flat();
  return (await hashText(JSON.stringify(members))).slice(0, 22);
}
