/**
 * The interface of identity providers, which authenticate the users of the authorization server.
 *
 * The authorization server sends the user's browser to the URL that `begin()` returns. It seals the value `kept`, binds it to
 * the browser, and passes it to `finish()` when the browser returns. Each provider has its own redirect URI, which ends with its
 * `id`, so that the response of one provider is never accepted as the response of another (RFC 9700, section 4.4).
 *
 * @module
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";

/** A user whom an identity provider has authenticated. */
export interface SignedInUser {
  /** The issuer of the identity provider. Users of different issuers are different users. */
  readonly issuer: string;
  /** The organisation of the user at an issuer that serves several. Users of different organisations are different users. */
  readonly tenant?: string | undefined;
  /** The organisation of the user at this server, if the identity provider names it. It does not identify the user. */
  readonly audienceTenant?: string | undefined;
  /** The user's id at the issuer. It never changes, and is never assigned to another user. */
  readonly subject: string;
  /** The user's e-mail address, as the provider returns it. It can change, so it does not identify the user. */
  readonly email?: string | undefined;
  /** Whether the provider has verified that the address belongs to the user. Undefined means no. */
  readonly emailVerified?: boolean | undefined;
  /** The user's name, for display only. */
  readonly name?: string | undefined;
  /** The user's organisations or groups at the issuer. */
  readonly organisations?: readonly string[] | undefined;
  /** Additional claims about the user. They do not contain tokens. */
  readonly claims?: JsonObject | undefined;
}

/** The tokens of a user at an identity provider. They are secrets, so store them only sealed. */
export interface UpstreamTokens {
  /** The access token for the provider's API. */
  readonly accessToken: string;
  /** When the access token expires, in milliseconds since 1970. Undefined if it does not expire or the expiry is unknown. */
  readonly expiresAtMs?: number | undefined;
  /** The refresh token. At some providers it works only once. */
  readonly refreshToken?: string | undefined;
  /** When the refresh token expires, in milliseconds since 1970. Undefined if this is unknown. */
  readonly refreshExpiresAtMs?: number | undefined;
  /** The scopes that the provider granted. */
  readonly scopes?: readonly string[] | undefined;
}

/** The parameters of a sign-in. */
export interface SignInRequest {
  /** The URL to which the provider sends the browser back. Its last segment is the `id` of the provider. */
  readonly redirectUri: string;
  /** The `state` parameter, an unguessable string that the provider returns. It has at least 128 random bits. */
  readonly state: string;
}

/**
 * The values that a provider needs when the browser returns, such as the nonce and the code verifier. The provider chooses the
 * members, and the authorization server seals them.
 */
export type KeptSignIn = Readonly<Record<string, string>>;

/** A sign-in that was started. */
export interface StartedSignIn {
  /** The URL to send the browser to. */
  readonly url: string;
  /** The values that are passed to `finish()`. */
  readonly kept: KeptSignIn;
}

/** The result of a sign-in. */
export interface UpstreamSignIn {
  /** The user. */
  readonly user: SignedInUser;
  /** The user's tokens, if the provider issues tokens. */
  readonly tokens?: UpstreamTokens | undefined;
}

/** A service that authenticates users. All methods reject only with an {@link IdentityError}. */
export interface IdentityProvider {
  /** Identifies the provider in paths and stored data: 1 to 32 characters of `a-z`, `0-9` and `-`, unique in the authorization server. */
  readonly id: string;
  /** The name that users know, such as "GitHub". */
  readonly label: string;
  /**
   * The issuer of its users. `enterprise()` does not accept other keys for this issuer. If it is left out, because users come from
   * several issuers, `enterprise()` does not accept `jwks` for any issuer.
   */
  readonly issuer?: string;
  /** Starts a sign-in. It may request the metadata of the provider, and does not store anything. */
  begin(request: SignInRequest): Promise<StartedSignIn>;
  /**
   * Completes a sign-in.
   *
   * @param callbackUrl The URL with which the browser returned. The method checks `state`, `iss` and all other parameters.
   * @param kept The value that `begin()` returned for this browser and this state.
   */
  finish(callbackUrl: string, kept: KeptSignIn): Promise<UpstreamSignIn>;
  /**
   * Returns new tokens, which replace the old ones. Never call it twice at the same time with the same tokens, because many
   * providers revoke all tokens when a refresh token is used twice. Absent if the provider's tokens cannot be refreshed.
   *
   * Rejects with the reason `revoked` if the provider has revoked the user's access, and with `unavailable` if another attempt
   * later can succeed.
   */
  refresh?(tokens: UpstreamTokens): Promise<UpstreamTokens>;
  /**
   * Requests the user's current data from the provider, such as the organisations, with an access token that has not expired.
   * This also shows whether tokens without an expiry still work. Absent if the provider does not support this.
   *
   * Rejects as `refresh()` does, and with `revoked` if the tokens belong to another user.
   *
   * @param user The stored user. The result has the same `issuer` and `subject`.
   */
  check?(tokens: UpstreamTokens, user: SignedInUser): Promise<SignedInUser>;
  /**
   * Returns the response to a request for the redirect URI that does not complete a sign-in, or undefined if there is no such
   * page. For providers without their own site, such as the provider for local development.
   */
  page?(request: Request): Response | undefined;
}

/**
 * Why an identity provider failed:
 *
 * - `denied`: the user or the provider has declined the sign-in. The user may try again.
 * - `invalid`: the response does not belong to this sign-in, has expired, or was tampered with.
 * - `revoked`: the provider has revoked the user's access, so the authorization server revokes it too.
 * - `unavailable`: the provider does not respond, or reports an error. The user keeps the access until the next attempt.
 * - `misconfigured`: the provider refuses this client, or its metadata is invalid. The author must correct the configuration.
 */
export type IdentityReason = "denied" | "invalid" | "revoked" | "unavailable" | "misconfigured";

const BRAND = Symbol.for("mcp-edge.error");

/** Thrown when an identity provider fails. The message is for logs. It names the provider, and does not contain secrets. */
export class IdentityError extends Error {
  /** The class of the error. */
  override readonly name = "IdentityError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "IdentityError";
  /** Why the provider failed. */
  readonly reason: IdentityReason;

  /** Creates an error. A custom identity provider throws it too. */
  constructor(reason: IdentityReason, message: string) {
    super(message);
    this.reason = reason;
  }

  /** Returns whether a value is an `IdentityError`, including an error from another copy of the package. */
  static is(value: unknown): value is IdentityError {
    return value instanceof IdentityError || (value as { [BRAND]?: unknown } | undefined)?.[BRAND] === "IdentityError";
  }
}
