/**
 * The answers to refreshes, kept for requests that present the replaced token again.
 *
 * Several processes of one client share a refresh token, and refresh it at the same moment. A client may also lose an answer,
 * when it is killed or the network fails. If each refresh issued a new token, and the old one were refused, every process but
 * one would be signed out. So an equal request gets the answer again: the same one for a minute, and then, for five minutes
 * in all and as long as the new refresh token has not been used, one with this refresh token and a fresh access token. After that
 * a replaced token ends the access: it may be in the hands of a thief, and who is the client is unknown.
 *
 * The exchange of a code is repeated in the same way, for half a minute: its answer can be lost too.
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

/** Milliseconds for which a refresh token that was replaced is answered at all. */
const REPEAT_MS = 5 * 60_000;

/** Milliseconds for which an equal exchange of a code gets the same answer. */
export const CODE_REPEAT_MS = 30_000;

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

/** Returns the answers that can still be asked for: the newest one for five minutes, and the others for one. */
export function stillKept({ kept }: Pick<Grant, "kept">, nowMs: number): readonly KeptAnswer[] {
  return kept.filter(({ atMs }, at) => nowMs - atMs < (at === kept.length - 1 ? REPEAT_MS : SAME_MS)).slice(-KEPT_MAX);
}

/** Returns whether a request gets exactly the answer that was kept. */
export function isSameAnswer({ atMs }: KeptAnswer, nowMs: number): boolean {
  return nowMs - atMs < SAME_MS;
}
