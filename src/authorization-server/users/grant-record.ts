/**
 * The records that the object of a user stores, and the requests and responses of the token endpoint.
 *
 * @module
 */
import type { SignedInUser } from "../identity/provider.ts";

/** The client of a grant, as it was shown to the user. */
export interface GrantedClient {
  /** The `client_id`. */
  readonly id: string;
  /** The name from the author's options, or from the client's metadata. */
  readonly name: string;
  /** Whether the name is from the author's options. */
  readonly isVerified: boolean;
}

/** The terms of an authorization code. */
export interface CodeTerms {
  /** The hash of the secret in the code. */
  readonly hash: string;
  /** The PKCE challenge (RFC 7636, S256). */
  readonly challenge: string;
  readonly redirectUri: string;
  /** The key that the token request must prove (RFC 9449, section 10). */
  readonly jkt?: string | undefined;
}

/** A stored response to a token request, sealed with the code or refresh token of the request. */
export interface KeptResponse {
  /** The hash of the code or refresh token that was presented. */
  readonly presented: string;
  /** The fingerprint of the request: credentials, proof key and parameters. */
  readonly request: string;
  /** When the code or token was first used. */
  readonly usedAtMs: number;
  readonly sealed: string;
  /** When this response was created. */
  readonly atMs: number;
}

/** The access that a user has given a client. It is stored from the consent of the user until it is revoked or expires. */
export interface GrantRecord {
  readonly client: GrantedClient;
  readonly scopes: readonly string[];
  /** The issuer of its tokens. */
  readonly issuer: string;
  /** The resource that its tokens are valid for. */
  readonly resource: string;
  readonly createdAtMs: number;
  /** When a token was last issued to the client. */
  readonly usedAtMs: number;
  /** When the code expires, or, after its exchange, the refresh token. */
  readonly expiresAtMs: number;
  /** The code. It is stored even after its exchange, to recognise a second use. */
  readonly code: CodeTerms;
  /** The hash of the refresh token. Undefined until the code is exchanged. */
  readonly refresh?: string;
  /** The key that the refresh token of a public client is bound to (RFC 9449, section 5). */
  readonly jkt?: string | undefined;
  /** The stored responses for codes and refresh tokens that were used, oldest first. */
  readonly kept: readonly KeptResponse[];
}

/** A consent question that was answered. */
export interface AnsweredQuestion {
  readonly id: string;
  /** When the question expires. */
  readonly untilMs: number;
}

/** The stored user of an object. */
export interface StoredUser {
  /** The consent questions that the user has answered and that have not expired. */
  readonly answered?: readonly AnsweredQuestion[];
  readonly user: SignedInUser;
  /** The `id` of the identity provider. */
  readonly provider: string;
  /** The session id of all signed-in browsers. It changes when the user signs out. */
  readonly session: string;
  /** When the session of the most recent sign-in expires. */
  readonly sessionUntilMs: number;
  /** The sealed tokens of the identity provider. */
  readonly upstream?: string | undefined;
  /** When the access token of the identity provider expires. */
  readonly upstreamExpiresAtMs?: number | undefined;
  /** When the identity provider last confirmed the user. */
  readonly checkedAtMs: number;
}

/** A successful token response (RFC 6749, section 5.1). */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "Bearer" | "DPoP";
  readonly expires_in: number;
  /** Absent for an assertion, which the client renews at its issuer. */
  readonly refresh_token?: string;
  readonly scope: string;
  /** The resource of an assertion, which the draft requires in the response. */
  readonly resource?: string;
}

/** A token error response (RFC 6749, section 5.2, and RFC 9449). */
export interface TokenError {
  readonly error:
    | "invalid_request"
    | "invalid_client"
    | "invalid_grant"
    | "invalid_scope"
    | "invalid_target"
    | "invalid_dpop_proof"
    | "use_dpop_nonce"
    | "unauthorized_client"
    | "unsupported_grant_type"
    | "temporarily_unavailable"
    | "server_error";
  /** A sentence for the developer of the client. It does not contain secrets. */
  readonly description: string;
  /** What was used a second time. The grant of a code or refresh token was revoked for it. */
  readonly replayed?: "code" | "refresh-token" | "assertion";
}

/** The sender of a token request. */
export interface TokenSender {
  readonly clientId: string;
  /** Whether the client is public, which means that it has no credentials. */
  readonly isPublic: boolean;
  /** The thumbprint of the key that the request has proven. */
  readonly jkt?: string | undefined;
  /** The `resource` of the request (RFC 8707). */
  readonly resource?: string | undefined;
}

/** A request for tokens with a code. */
export interface RedeemRequest extends TokenSender {
  readonly redirectUri: string | undefined;
  /** The hash of the code verifier. */
  readonly challenge: string;
}

/** A request for tokens with a refresh token. */
export interface RefreshRequest extends TokenSender {
  /** The requested scopes. Undefined for all scopes of the grant. */
  readonly scopes?: readonly string[] | undefined;
  /** A hash that is equal for equal requests. */
  readonly fingerprint: string;
}

/** The content of an access token. */
export interface AccessTerms {
  readonly user: string;
  readonly grant: string;
  readonly client: string;
  readonly scopes: readonly string[];
  readonly resource: string;
  readonly expiresAtMs: number;
  readonly jkt?: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The content of a code or a refresh token: the user's object, the grant, and the secret that proves possession. */
export interface TokenHandle {
  readonly user: string;
  readonly grant: string;
  readonly secret: string;
  readonly expiresAtMs: number;
}

/** A grant as it is shown to the user. */
export interface GrantSummary {
  readonly id: string;
  readonly client: GrantedClient;
  /** The redirect URI of the authorization request. */
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
}

/** The access that the user gives a client, before it is stored as a grant. */
export interface Approval {
  readonly client: GrantedClient;
  readonly scopes: readonly string[];
  readonly issuer: string;
  readonly resource: string;
  readonly code: Omit<CodeTerms, "hash">;
}
