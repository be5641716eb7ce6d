/**
 * The answers to token requests, kept for requests that present the used code or the replaced refresh token again.
 *
 * Several processes of one client share a refresh token, and refresh it at the same moment. A client may also lose an
 * answer, when it is killed or the network fails. If each refresh issued a new token, and the old one were refused,
 * every process but one would be signed out. So an equal request gets the same answer for a minute.
 *
 * A client that comes back later has lost the answer, or is not the client. Until five minutes after the first use, and
 * as long as the successor was not used, it gets another successor, which replaces the first one. If two hold the
 * token, the one whose successor was replaced ends the access for both. After five minutes the repetition itself ends
 * the access.
 *
 * An exchange of a code gets the same answer for half a minute, as long as nobody has refreshed.
 *
 * An answer is sealed with the code or token that was presented, of which the object stores only a hash. So what is
 * stored reveals no token.
 *
 * @module
 * @see RFC 9700, section 4.14.2
 */
import { encodeText } from "../../core/basics/bytes.ts";
import { KeyRing } from "../../core/seal/key-ring.ts";
import { openJson } from "../sealing.ts";
import type { GrantRecord, KeptResponse, TokenResponse } from "./grant-record.ts";

/**
 * Milliseconds for which an equal request gets the same answer, whatever happened since.
 * @limit ms The time in which an equal refresh gets exactly the same answer.
 */
const SAME_MS = 60_000;

/** Milliseconds after its first use for which a refresh token gets another successor, if the first one was not used. */
const LATE_MS = 5 * 60_000;

/** Milliseconds for which an equal exchange of a code gets the same answer. */
const CODE_SAME_MS = 30_000;

/**
 * The maximum number of answers of one grant. Only a client that refreshes all the time reaches it; then the oldest is
 * dropped.
 * @limit count Answers to refreshes of one grant within this time. The oldest is forgotten, and its token then ends the
 * access.
 */
const KEPT_MAX = 8;

const PURPOSE = "OAuth successor";

/** A code or refresh token that was used. */
export interface UsedToken extends Pick<KeptResponse, "presented" | "request" | "usedAtMs"> {
  readonly secret: string;
}

/** Returns the answers to keep, with a new one, which is sealed under the secret of the code or token. */
export async function keepResponse(
  grant: Pick<GrantRecord, "kept">,
  { secret, ...used }: UsedToken,
  answer: TokenResponse,
): Promise<readonly KeptResponse[]> {
  const sealed = await (await KeyRing.parse(secret, PURPOSE)).seal(encodeText(JSON.stringify(answer)));
  const atMs = Date.now();
  const others = stillKept(grant, atMs).filter(({ presented }) => presented !== used.presented);
  return [...others, { ...used, sealed, atMs }].slice(-KEPT_MAX);
}

/** Opens a stored answer with the code or refresh token that the client has presented again. */
export async function openResponse(secret: string, { sealed }: KeptResponse): Promise<TokenResponse | undefined> {
  return openJson(await KeyRing.parse(secret, PURPOSE), sealed);
}

/** Returns the answer for a refresh token that was replaced, or undefined if it is too late to ask for it. */
export function findKeptResponse(
  grant: Pick<GrantRecord, "kept">,
  presented: string,
  nowMs: number,
): KeptResponse | undefined {
  return stillKept(grant, nowMs).find((each) => each.presented === presented);
}

/** Returns the answer for the grant's code, or undefined if it is too late, or somebody has refreshed since. */
export function findCodeResponse(
  { kept, code }: Pick<GrantRecord, "kept" | "code">,
  nowMs: number,
): KeptResponse | undefined {
  const newest = kept.at(-1);
  return newest?.presented === code.hash && nowMs - newest.usedAtMs < CODE_SAME_MS ? newest : undefined;
}

/** Returns whether a request gets exactly the answer that was kept. */
export function isRepeatable({ atMs }: KeptResponse, nowMs: number): boolean {
  return nowMs - atMs < SAME_MS;
}

/** Returns the answers that can still be asked for. The newest one is the one whose successor was not used. */
function stillKept({ kept }: Pick<GrantRecord, "kept">, nowMs: number): readonly KeptResponse[] {
  return kept.filter((each, at) => {
    return isRepeatable(each, nowMs) || (at === kept.length - 1 && nowMs - each.usedAtMs < LATE_MS);
  });
}
