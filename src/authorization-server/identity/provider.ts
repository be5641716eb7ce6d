/**
 * How the authorization server lets users sign in: it sends their browser to an identity provider, which says who they are.
 *
 * The caller seals what `begin()` returns as `kept`, binds it to the browser, and calls `finish()` with it when the browser
 * returns. Each provider has a redirect URI of its own, which ends with its `id`, so that the answer of one provider is never
 * taken for that of another (RFC 9700, section 4.4).
 *
 * @module
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";

/** A user whom an identity provider has authenticated. */
export interface SignedInUser {
  /** The issuer of the identity provider. Users of different issuers are different users. */
  readonly issuer: string;
  /** The user's id at the issuer. It never changes, and is never given to another user. */
  readonly subject: string;
  /** The user's e-mail address, as the provider writes it. It can change, so it does not identify the user. */
  readonly email?: string | undefined;
  /** Whether the provider says that the address belongs to the user. Undefined means no. */
  readonly emailVerified?: boolean | undefined;
  /** The user's name, for display only. */
  readonly name?: string | undefined;
  /** The organisations or groups that the issuer says the user belongs to. */
  readonly organisations?: readonly string[] | undefined;
  /** Further claims about the user. They contain no token. */
  readonly claims?: JsonObject | undefined;
}

/** The tokens of a user at an identity provider. They are secrets: store them sealed only. */
export interface UpstreamTokens {
  /** The access token for the provider's API. */
  readonly accessToken: string;
  /** When the access token expires, in milliseconds since 1970. Undefined if it does not, or if the provider does not say. */
  readonly expiresAtMs?: number | undefined;
  /** The token with which `refresh()` gets new ones. It may work only once. */
  readonly refreshToken?: string | undefined;
  /** When the refresh token expires, in milliseconds since 1970. Undefined if the provider does not say. */
  readonly refreshExpiresAtMs?: number | undefined;
  /** The scopes that the provider granted. */
  readonly scopes?: readonly string[] | undefined;
}

/** A sign-in that begins. */
export interface SignInRequest {
  /** The URL to which the provider sends the browser back. Its last segment is the `id` of the provider. */
  readonly redirectUri: string;
  /** An unguessable text that comes back with the browser, by which the caller finds what it kept. At least 128 random bits. */
  readonly state: string;
}

/**
 * What a provider needs when the browser returns, such as the nonce and the code verifier. Its members are those of the
 * provider. The caller seals it.
 */
export type KeptSignIn = Readonly<Record<string, string>>;

/** A sign-in that has begun. */
export interface StartedSignIn {
  /** The URL to send the browser to. */
  readonly url: string;
  /** What `finish()` needs. */
  readonly kept: KeptSignIn;
}

/** A sign-in that has ended. */
export interface UpstreamSignIn {
  /** The user. */
  readonly user: SignedInUser;
  /** The user's tokens, if the provider issues any. */
  readonly tokens?: UpstreamTokens | undefined;
}

/** A service that authenticates users. Every method rejects with an {@link IdentityError} and with nothing else. */
export interface IdentityProvider {
  /** Identifies the provider in paths and stored data: 1 to 32 of `a-z`, `0-9` and `-`. Unique in an authorization server. */
  readonly id: string;
  /** The name that users know, such as "GitHub". */
  readonly label: string;
  /** Begins a sign-in. It may request the metadata of the provider, and stores nothing. */
  begin(request: SignInRequest): Promise<StartedSignIn>;
  /**
   * Ends a sign-in.
   *
   * @param callbackUrl The URL with which the browser returned. The method checks `state`, `iss` and everything else.
   * @param kept What `begin()` returned for this browser and this state.
   */
  finish(callbackUrl: string, kept: KeptSignIn): Promise<UpstreamSignIn>;
  /**
   * Returns new tokens, which replace all old ones. Never call it twice at the same time with the same tokens, because many
   * providers revoke everything when a refresh token is used twice. Absent if the provider's tokens cannot be refreshed.
   *
   * Rejects with the reason `revoked` if the provider has ended the user's access, and with `unavailable` if trying again
   * later can help.
   */
  refresh?(tokens: UpstreamTokens): Promise<UpstreamTokens>;
  /**
   * Asks the provider about the user again, with an access token that has not expired. It tells whether tokens without an
   * expiry still work, and which organisations the user belongs to now. Absent if the provider cannot be asked.
   *
   * Rejects as `refresh()` does, and with `revoked` if the tokens belong to another user.
   *
   * @param user The user as known so far. The result has the same `issuer` and `subject`.
   */
  check?(tokens: UpstreamTokens, user: SignedInUser): Promise<SignedInUser>;
  /**
   * Answers a request for the redirect URI that is not the end of a sign-in, or returns undefined. Only for providers that
   * have no site of their own, such as that for local development.
   */
  page?(request: Request): Response | undefined;
}

/**
 * Why an identity provider failed:
 *
 * - `denied`: the user, or the provider, declined the sign-in. Show the sign-in page again.
 * - `invalid`: the answer does not belong to this sign-in, is too old, or was tampered with.
 * - `revoked`: the provider has ended the user's access. End it here too.
 * - `unavailable`: the provider does not answer or fails. Try again later, and keep the user's access until then.
 * - `misconfigured`: the provider refuses this client, or its metadata cannot be used. The author must act.
 */
export type IdentityReason = "denied" | "invalid" | "revoked" | "unavailable" | "misconfigured";

const BRAND = Symbol.for("mcp-edge.error");

/** Thrown when an identity provider fails. Its text is for logs, names the provider, and contains no secret. */
export class IdentityError extends Error {
  /** The class of the error. */
  override readonly name = "IdentityError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "IdentityError";
  /** Why the provider failed. */
  readonly reason: IdentityReason;

  /** Creates an error. An identity provider of your own throws it, too. */
  constructor(reason: IdentityReason, message: string) {
    super(message);
    this.reason = reason;
  }

  /** Whether a value is such an error, including one from another copy of the package. */
  static is(value: unknown): value is IdentityError {
    return value instanceof IdentityError || (value as { [BRAND]?: unknown } | undefined)?.[BRAND] === "IdentityError";
  }
}
