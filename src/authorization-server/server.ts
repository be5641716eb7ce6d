/**
 * The types and constants that all routes of the authorization server share.
 *
 * @module
 */
import type { ProofVerifier } from "../worker/access/auth/proof-verifier.ts";
import type { ObjectStub, RoleObjects } from "../worker/bindings.ts";
import type { OfferedScope } from "./admission.ts";
import type { Clients } from "./clients/clients.ts";
import type { SignInPages } from "./pages/index.ts";
import type { Policy } from "./policy.ts";
import type { Sealing } from "./sealing.ts";
import type { UserRpc } from "./users/user-object.ts";

/** The authorization server, as its routes use it. */
export interface AuthServer {
  readonly policy: Policy;
  readonly sealing: Sealing;
  readonly clients: Clients;
  readonly proofs: ProofVerifier;
  readonly pages: SignInPages;
  /** The scopes that clients can request. */
  readonly scopes: Readonly<Record<string, OfferedScope>>;
  /** The scopes that are granted to a client that does not request any. */
  readonly requiredScopes: readonly string[];
  readonly canRegister: boolean;
  readonly schemes: readonly string[];
  readonly users: RoleObjects<UserRpc>;
}

/** One request to the authorization server. */
export interface Visit {
  readonly request: Request;
  readonly url: URL;
  readonly env: unknown;
  readonly server: AuthServer;
  /** The issuer, which is the origin of the authorization server. */
  readonly issuer: string;
  /** The URL of the endpoint, for which tokens are issued. */
  readonly resource: string;
  /** Reports to `audit()` that the request is refused. */
  refused(refusal: ReportedRefusal): void;
}

/** A refusal, as `audit()` records it. */
export interface ReportedRefusal {
  readonly reason: RefusalReason;
  readonly status: number;
  /** The user, if known. */
  readonly userId?: string;
  /** The client, if known. */
  readonly clientId?: string | undefined;
}

/** The reasons that `audit()` records for requests to the authorization server. */
export type RefusalReason =
  /** The client is not known, or its secret is wrong. */
  | "invalid_client"
  /** A code or a refresh token is not valid. */
  | "invalid_grant"
  /** A code was used twice, so the access was revoked. */
  | "code-replayed"
  /** A refresh token was used long after it was replaced, so the access was revoked. */
  | "refresh-token-replayed"
  /** A consent form was not sent from the consent page. */
  | "consent-refused"
  /** Too many attempts to log in, for one account or from one address. */
  | "login-locked"
  /** Too many requests from one address. */
  | "too-many";

/** Handles the requests for one path. */
export type Route = (visit: Visit) => Promise<Response>;

/** Returns the object of a user. */
export function findUserObject({ server, env }: Visit, user: string): ObjectStub {
  return server.users.named(env, `user:${user}`);
}

/** The paths of the authorization server. */
export const PATHS = {
  metadata: "/.well-known/oauth-authorization-server",
  authorize: "/authorize",
  callback: "/authorize/callback",
  allowed: "/authorize/allowed",
  token: "/token",
  revoke: "/revoke",
  register: "/register",
} as const;
