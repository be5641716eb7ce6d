/**
 * The form in which tokens are stored.
 *
 * @module
 */
import type { OAuthClient } from "./client-authentication.ts";
import { OAuthError } from "./errors.ts";
import type { Granted } from "./grant.ts";

/** A token is replaced this long before it expires, or a tenth of its life before if that is shorter. */
const EARLY_MS = 30_000;

/** The longest life of a token, in milliseconds: 100 years. A longer one could not be stored as JSON. */
const LIFE_MAX_MS = 100 * 365 * 86_400_000;

/** The tokens that can be sent in a header. @see RFC 6750, 2.1 */
export const TOKEN = /^[\x21-\x7e]+$/;

/** The origin of tokens, and the purpose for which they were requested. */
export interface TokenSource {
  readonly issuer: string;
  /** Whether the MCP server does not name an issuer, and is its own authorization server. */
  readonly isSilent: boolean;
  /** The value of the `resource` parameter. @see RFC 8707 */
  readonly resource: string;
  /** The scopes that were requested. */
  readonly requested?: string | undefined;
  /** The key that the tokens are bound to, in the form of `Proof.stored`. */
  readonly key?: string | undefined;
}

/** The tokens for one server. */
export interface TokenRecord extends TokenSource {
  readonly client: OAuthClient;
  readonly accessToken: string;
  /** Whether the token is bound to the key. The server can grant one that is not. */
  readonly isBound: boolean;
  readonly refreshToken?: string | undefined;
  /** The scopes that were granted; those that were requested if the server does not name them. */
  readonly scope?: string | undefined;
  /** The time, in epoch milliseconds, from which a new token is used. */
  readonly renewAtMs?: number | undefined;
  /** The time, in epoch milliseconds, at which the token expires. */
  readonly expiresAtMs?: number | undefined;
}

/** Reads a stored value. Returns null if there is none, or if it cannot be read, so that a new one is obtained. */
export function readStored<T>(text = "null"): T | null {
  try {
    return JSON.parse(text) as T | null;
  } catch {
    // The error would contain a part of the text.
    return null;
  }
}

/**
 * Returns the record of the tokens in an answer.
 *
 * @param before The tokens that were refreshed.
 * @throws {OAuthError} `token-invalid` for a token that could not be sent in a header.
 */
export function toRecord(source: TokenSource, { client, answer }: Granted, before?: TokenRecord): TokenRecord {
  const { access_token: accessToken, refresh_token, expires_in: expiresIn, scope, token_type: type } = answer;
  // They could not be sent. The text does not contain them.
  if (!TOKEN.test(accessToken + (refresh_token ?? "")))
    throw new OAuthError("token-invalid", "A token is not visible ASCII.");
  const lifeMs = expiresIn === undefined ? undefined : Math.min(expiresIn * 1_000, LIFE_MAX_MS);
  return {
    ...source,
    client,
    accessToken,
    isBound: type === "dpop",
    // A server that does not rotate its refresh tokens sends none.
    refreshToken: refresh_token ?? before?.refreshToken,
    scope: scope ?? before?.scope ?? source.requested,
    renewAtMs: lifeMs === undefined ? undefined : Date.now() + lifeMs - Math.min(EARLY_MS, lifeMs / 10),
    expiresAtMs: lifeMs === undefined ? undefined : Date.now() + lifeMs,
  };
}

/** Whether the token should be renewed before it is used. */
export function isDue({ renewAtMs }: TokenRecord): boolean {
  return renewAtMs !== undefined && renewAtMs <= Date.now();
}

/** Whether a token that is due has not expired yet. */
export function isStillValid({ expiresAtMs }: TokenRecord): boolean {
  return expiresAtMs !== undefined && expiresAtMs > Date.now();
}

/** Returns the scopes of all lists, each scope once. Undefined if there is none. */
export function joinScopes(...lists: readonly (string | undefined)[]): string | undefined {
  const scopes = new Set(lists.flatMap((list) => list?.split(" ") ?? []).filter((scope) => scope !== ""));
  return scopes.size > 0 ? [...scopes].join(" ") : undefined;
}
