/**
 * Stores the responses of token requests, for clients that repeat a request with a used code or a replaced refresh token.
 *
 * Several processes of one client can share a refresh token and refresh it at the same time. A client can also lose a
 * response when it is killed or the network fails. If each refresh issued a new token and the old one were refused, every
 * process except one would be signed out. Therefore an equal request receives the same response for one minute.
 *
 * After that minute, the sender has either lost the response or is not the client. Until five minutes after the first use, and
 * as long as the new token (the successor) was not used, the sender receives another successor, which replaces the first one.
 * If two parties have the token, the party whose successor was replaced revokes the grant when it uses that successor. After
 * five minutes, the repeated use of the token itself revokes the grant.
 *
 * An equal exchange of a code receives the same response for half a minute, as long as no refresh has followed it.
 *
 * A response is sealed with the code or token that was presented. The object stores only the hash of that code or token, so
 * the stored data does not reveal any token.
 *
 * @module
 * @see RFC 9700, section 4.14.2
 */
import { encodeText } from "../../core/basics/bytes.ts";
import { KeyRing } from "../../core/seal/key-ring.ts";
import { openJson } from "../sealing.ts";
import type { GrantRecord, KeptResponse, TokenResponse } from "./grant-record.ts";

/**
 * How long an equal request receives the same response, in milliseconds.
 * @limit ms How long an equal refresh receives the same response.
 */
const SAME_MS = 60_000;

/** How long after its first use a refresh token can be exchanged for another successor, in milliseconds. */
const LATE_MS = 5 * 60_000;

/** How long an equal exchange of a code receives the same response, in milliseconds. */
const CODE_SAME_MS = 30_000;

/**
 * The maximum number of stored responses of one grant. Only a client that refreshes constantly reaches it.
 * @limit count Stored responses of one grant. When it is reached, the oldest is removed, and a repeated use of its token
 * revokes the grant.
 */
const KEPT_MAX = 8;

const PURPOSE = "OAuth successor";

/** A code or refresh token that was used. */
export interface UsedToken extends Pick<KeptResponse, "presented" | "request" | "usedAtMs"> {
  readonly secret: string;
}

/** Seals a response with the secret of the code or token, and returns it with the stored responses that are still needed. */
export async function keepResponse(
  grant: Pick<GrantRecord, "kept">,
  { secret, ...used }: UsedToken,
  response: TokenResponse,
): Promise<readonly KeptResponse[]> {
  const sealed = await (await KeyRing.parse(secret, PURPOSE)).seal(encodeText(JSON.stringify(response)));
  const atMs = Date.now();
  const others = findUnexpired(grant, atMs).filter(({ presented }) => presented !== used.presented);
  return [...others, { ...used, sealed, atMs }].slice(-KEPT_MAX);
}

/** Opens a stored response with the code or refresh token that the client has presented again. */
export async function openResponse(secret: string, { sealed }: KeptResponse): Promise<TokenResponse | undefined> {
  return openJson(await KeyRing.parse(secret, PURPOSE), sealed);
}

/** Returns the stored response for a replaced refresh token, or undefined if it has expired. */
export function findKeptResponse(
  grant: Pick<GrantRecord, "kept">,
  presented: string,
  nowMs: number,
): KeptResponse | undefined {
  return findUnexpired(grant, nowMs).find((each) => each.presented === presented);
}

/** Returns the stored response for the grant's code, or undefined if it has expired or a refresh has followed it. */
export function findCodeResponse(
  { kept, code }: Pick<GrantRecord, "kept" | "code">,
  nowMs: number,
): KeptResponse | undefined {
  const newest = kept.at(-1);
  return newest?.presented === code.hash && nowMs - newest.usedAtMs < CODE_SAME_MS ? newest : undefined;
}

/** Returns whether an equal request receives exactly the stored response. */
export function isRepeatable({ atMs }: KeptResponse, nowMs: number): boolean {
  return nowMs - atMs < SAME_MS;
}

/** Returns the stored responses that have not expired. The newest is the only one whose successor was not used. */
function findUnexpired({ kept }: Pick<GrantRecord, "kept">, nowMs: number): readonly KeptResponse[] {
  return kept.filter((each, at) => {
    return isRepeatable(each, nowMs) || (at === kept.length - 1 && nowMs - each.usedAtMs < LATE_MS);
  });
}
