/**
 * The decisions of the authorization server about its users, and its times.
 *
 * @module
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import type { IdentityProvider, SignedInUser } from "./identity/provider.ts";
import type { Sealing } from "./sealing.ts";

/** What the author decides, with all defaults filled in. */
export interface Policy {
  /** Milliseconds for which an access token is valid. */
  readonly accessTokenMs: number;
  /** Milliseconds for which a refresh token is valid after it was issued. */
  readonly refreshTokenMs: number;
  /** Milliseconds for which a browser stays signed in. */
  readonly sessionMs: number;
  readonly providers: ReadonlyMap<string, IdentityProvider>;
  /** Returns the scopes that a user may grant, or undefined if the user may not sign in. */
  findOfferedScopes(user: SignedInUser): Promise<readonly string[] | undefined>;
  /** Returns what handlers get to know about a user. */
  createClaims(user: SignedInUser): JsonObject;
}

/** What the object of a user needs of its endpoint. */
export interface UserHost {
  readonly policy: Policy;
  readonly sealing: Sealing;
}

/** What the object of a user stores with: its key-value storage, its environment, and its endpoint. */
export interface UserStorage {
  readonly env: unknown;
  readonly kv: SyncKvStorage;
  readonly host: UserHost;
}

/**
 * Milliseconds for which an authorization code is valid (RFC 6749, 4.1.2, recommends at most 10 minutes).
 * @limit ms The time in which a client must use a code. Then it gets `invalid_grant`.
 */
export const CODE_MS = 2 * 60_000;
