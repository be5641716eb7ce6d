/**
 * What the author of the server decides: lifetimes, identity providers, and the rules for users.
 *
 * @module
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import type { IdentityProvider, SignedInUser } from "./identity/provider.ts";
import type { Sealing } from "./sealing.ts";

/** The author's policy, with all defaults filled in. */
export interface Policy {
  /** The lifetime of an access token, in milliseconds. */
  readonly accessTokenMs: number;
  /** The lifetime of a refresh token, in milliseconds. */
  readonly refreshTokenMs: number;
  /** How long a browser stays signed in, in milliseconds. */
  readonly sessionMs: number;
  /** The identity providers by their ids. */
  readonly providers: ReadonlyMap<string, IdentityProvider>;
  /** Returns the scopes that a user may grant, or undefined if the user may not sign in. */
  findOfferedScopes(user: SignedInUser): Promise<readonly string[] | undefined>;
  /** Returns the value of `ctx.auth.claims` for a user. */
  createClaims(user: SignedInUser): JsonObject;
}

/** The parts of the authorization server that the object of a user needs. */
export interface UserHost {
  readonly policy: Policy;
  readonly sealing: Sealing;
}

/** The storage of the object of a user, with what is needed to seal and check the stored values. */
export interface UserStorage {
  readonly env: unknown;
  readonly kv: SyncKvStorage;
  /** Stores all changes of a function, or none if it throws. */
  readonly transactionSync: (work: () => void) => void;
  readonly host: UserHost;
}

/**
 * The lifetime of an authorization code, in milliseconds (RFC 6749, 4.1.2, recommends at most 10 minutes).
 * @limit ms The lifetime of an authorization code. A later token request is answered with `invalid_grant`.
 */
export const CODE_MS = 2 * 60_000;
