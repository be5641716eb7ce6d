/**
 * The answers to refreshes, kept for requests that present the replaced token again.
 *
 * Several processes of one client share a refresh token, and refresh it at the same moment. A client may also lose an answer,
 * when it is killed or the network fails. If each refresh issued a new token, and the old one were refused, every process but
 * one would be signed out. So an equal request gets the answer again: the same one for a minute, and afterwards, as long as the
 * new refresh token has not been used, one with this refresh token and a fresh access token.
 *
 * An answer is sealed with the refresh token that was presented, of which the object stores only a hash. So what is stored
 * reveals no token.
 *
 * @module
 * @see RFC 9700, section 4.14.2
 */
import { encodeText } from "../../core/protocol/bytes.ts";
import { KeyRing } from "../../core/seal/key-ring.ts";
import type { Grant, KeptAnswer, TokenAnswer } from "./grant.ts";
import { openJson } from "./sealing.ts";

/** Milliseconds for which an equal request gets the same answer, whatever happened since. */
export const SAME_MS = 60_000;

/** The most answers of one grant. Only a client that refreshes all the time reaches it; then the oldest is dropped. */
const KEPT_MAX = 8;

const PURPOSE = "OAuth successor";

/** Seals an answer under the secret of the token that was presented. */
export async function keepAnswer(secret: string, answer: TokenAnswer): Promise<string> {
  return (await KeyRing.parse(secret, PURPOSE)).seal(encodeText(JSON.stringify(answer)));
}

/** Opens a kept answer with the secret of the token that was presented again. */
export async function openAnswer(secret: string, { sealed }: KeptAnswer): Promise<TokenAnswer | undefined> {
  return openJson(await KeyRing.parse(secret, PURPOSE), sealed);
}

/** Returns the answers that can still be asked for: the newest one, and those that are less than a minute old. */
export function stillKept({ kept }: Pick<Grant, "kept">, nowMs: number): readonly KeptAnswer[] {
  return kept.filter(({ atMs }, at) => at === kept.length - 1 || nowMs - atMs < SAME_MS).slice(-KEPT_MAX);
}

/** Returns whether a request gets exactly the answer that was kept. */
export function isSameAnswer({ atMs }: KeptAnswer, nowMs: number): boolean {
  return nowMs - atMs < SAME_MS;
}
