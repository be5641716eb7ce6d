/**
 * What one user has allowed one client, as the user's object stores it, and the answers of token requests.
 *
 * @module
 */
import type { SignedInUser } from "../identity/provider.ts";

/** The client of a grant, as the user saw it when the grant was given. */
export interface GrantedClient {
  /** The `client_id`. */
  readonly id: string;
  /** The name that the client gives itself, or that the author gives it. */
  readonly name: string;
  /** Whether the author gave the name. */
  readonly isVerified: boolean;
}

/** What an authorization code stands for. */
export interface CodeTerms {
  /** Hash of the secret in the code. */
  readonly hash: string;
  /** The PKCE challenge (RFC 7636, S256). */
  readonly challenge: string;
  readonly redirectUri: string;
  /** The key that the token request must prove (RFC 9449, section 10). */
  readonly jkt?: string | undefined;
}

/** The answer to a token request whose refresh token was replaced, sealed under that token. */
export interface KeptResponse {
  /** Hash of the code or refresh token that was presented. */
  readonly presented: string;
  /** Fingerprint of the request: credentials, proof key and parameters. */
  readonly request: string;
  /** When the code or token was used first. */
  readonly usedAtMs: number;
  readonly sealed: string;
  /** When this answer was made. */
  readonly atMs: number;
}

/** A grant. It exists from the moment the user allows it until it is revoked or expires. */
export interface GrantRecord {
  readonly client: GrantedClient;
  readonly scopes: readonly string[];
  /** The issuer and the resource that its tokens are for. */
  readonly issuer: string;
  readonly resource: string;
  readonly createdAtMs: number;
  /** When the client last got a token. */
  readonly usedAtMs: number;
  /** When the code, or the refresh token, expires. */
  readonly expiresAtMs: number;
  /** The code, also after it was used: a second use must be recognised. */
  readonly code: CodeTerms;
  /** Hash of the refresh token. Undefined until the code is used. */
  readonly refresh?: string;
  /** The key that the refresh token of a public client is bound to (RFC 9449, section 5). */
  readonly jkt?: string | undefined;
  /** Answers for refresh tokens that were replaced, the oldest first. */
  readonly kept: readonly KeptResponse[];
}

/** A question for consent that was answered. */
export interface AnsweredQuestion {
  readonly id: string;
  /** When the question expires. */
  readonly untilMs: number;
}

/** The user of an object. */
export interface StoredUser {
  /** The questions that the user has answered, until they expire. */
  readonly answered?: readonly AnsweredQuestion[];
  readonly user: SignedInUser;
  /** The `id` of the identity provider. */
  readonly provider: string;
  /** Identifies the sessions of browsers that are signed in. It changes when the user signs out. */
  readonly session: string;
  /** When the newest of these sessions expires. */
  readonly sessionUntilMs: number;
  /** The sealed tokens of the identity provider. */
  readonly upstream?: string | undefined;
  /** When the access token of the identity provider expires. */
  readonly upstreamExpiresAtMs?: number | undefined;
  /** When the identity provider last confirmed the user. */
  readonly checkedAtMs: number;
}

/** The answer to a token request (RFC 6749, section 5.1). */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "Bearer" | "DPoP";
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
}

/** Why a token request fails (RFC 6749, section 5.2, and RFC 9449). */
export interface TokenError {
  readonly error:
    | "invalid_request"
    | "invalid_client"
    | "invalid_grant"
    | "invalid_scope"
    | "invalid_target"
    | "invalid_dpop_proof"
    | "use_dpop_nonce"
    | "unsupported_grant_type"
    | "temporarily_unavailable"
    | "server_error";
  /** A sentence for the developer of the client. It contains nothing secret. */
  readonly description: string;
  /** What was used a second time, so that the access has ended. */
  readonly replayed?: "code" | "refresh-token";
}

/** What every token request says about its sender. */
export interface TokenSender {
  readonly clientId: string;
  /** Whether the client has no credentials. */
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
  /** The scopes of the request. Undefined for all of the grant. */
  readonly scopes?: readonly string[] | undefined;
  /** Identifies equal requests. */
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

/** A grant as the user sees it. */
export interface GrantSummary {
  readonly id: string;
  readonly client: GrantedClient;
  /** The redirect URI that was used. */
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
}

/** What the user allows. */
export interface Approval {
  readonly client: GrantedClient;
  readonly scopes: readonly string[];
  readonly issuer: string;
  readonly resource: string;
  readonly code: Omit<CodeTerms, "hash">;
}
