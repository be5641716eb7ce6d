/**
 * The format in which tokens are stored.
 *
 * @module
 */
import type { OAuthClient } from "./client-authentication.ts";
import { OAuthError } from "./errors.ts";
import type { Granted } from "./grant.ts";

/** How long before its expiry a token is renewed, in milliseconds. At most a tenth of its lifetime. */
const EARLY_MS = 30_000;

/** The maximum lifetime of a token, in milliseconds: 100 years. Infinity could not be stored as JSON. */
const LIFETIME_MAX_MS = 100 * 365 * 86_400_000;

/** Matches tokens that can be sent in a header. @see RFC 6750, 2.1 */
export const TOKEN = /^[\x21-\x7e]+$/;

/** Where tokens were issued, and what they were requested for. */
export interface TokenSource {
  readonly issuer: string;
  /** Whether the MCP server names no issuer, so that it is its own authorization server. */
  readonly isSilent: boolean;
  /** The value of the `resource` parameter. @see RFC 8707 */
  readonly resource: string;
  /** The scopes that were requested. */
  readonly requested?: string | undefined;
  /** The key that the tokens are bound to, serialized as in `DpopKey.stored`. */
  readonly key?: string | undefined;
}

/** The tokens for one server. */
export interface TokenRecord extends TokenSource {
  readonly client: OAuthClient;
  readonly accessToken: string;
  /** Whether the token is bound to the key. A server may ignore the key. */
  readonly isBound: boolean;
  readonly refreshToken?: string | undefined;
  /** The granted scopes. If the server does not name them, they equal the requested scopes. */
  readonly scope?: string | undefined;
  /** The time from which the token is due for renewal, in epoch milliseconds. */
  readonly renewAtMs?: number | undefined;
  /** The time at which the token expires, in epoch milliseconds. */
  readonly expiresAtMs?: number | undefined;
}

/** Parses a stored value. Returns null if there is none or it is not JSON. */
export function readStored<T>(text = "null"): T | null {
  try {
    return JSON.parse(text) as T | null;
  } catch {
    // The error is not rethrown, because it contains a part of the value, which is a secret.
    return null;
  }
}

/**
 * Returns the record for the tokens in a response.
 *
 * @param before The tokens that were refreshed.
 * @throws {OAuthError} `token-invalid` for a token that cannot be sent in a header.
 */
export function toRecord(source: TokenSource, { client, response }: Granted, before?: TokenRecord): TokenRecord {
  const { access_token: accessToken, refresh_token, expires_in: expiresIn, scope, token_type: type } = response;
  // The message does not contain the tokens, which are secrets.
  if (!TOKEN.test(accessToken + (refresh_token ?? "")))
    throw new OAuthError("token-invalid", "A token is not visible ASCII.");
  const lifetimeMs = expiresIn === undefined ? undefined : Math.min(expiresIn * 1_000, LIFETIME_MAX_MS);
  return {
    ...source,
    client,
    accessToken,
    isBound: type === "dpop",
    // A server that does not rotate refresh tokens sends no new one.
    refreshToken: refresh_token ?? before?.refreshToken,
    scope: scope ?? before?.scope ?? source.requested,
    renewAtMs: lifetimeMs === undefined ? undefined : Date.now() + lifetimeMs - Math.min(EARLY_MS, lifetimeMs / 10),
    expiresAtMs: lifetimeMs === undefined ? undefined : Date.now() + lifetimeMs,
  };
}

/** Whether a token should be renewed before it is used. */
export function isDue({ renewAtMs }: TokenRecord): boolean {
  return renewAtMs !== undefined && renewAtMs <= Date.now();
}

/** Whether a token that is due has not expired yet. */
export function isStillValid({ expiresAtMs }: TokenRecord): boolean {
  return expiresAtMs !== undefined && expiresAtMs > Date.now();
}

/** Returns the scopes of all lists without duplicates, or undefined if there is none. */
export function joinScopes(...lists: readonly (string | undefined)[]): string | undefined {
  const scopes = new Set(lists.flatMap((list) => list?.split(" ") ?? []).filter((scope) => scope !== ""));
  return scopes.size > 0 ? [...scopes].join(" ") : undefined;
}
