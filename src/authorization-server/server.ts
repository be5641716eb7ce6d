/**
 * The authorization server as its routes see it.
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

/** What all routes share. */
export interface AuthServer {
  readonly policy: Policy;
  readonly sealing: Sealing;
  readonly clients: Clients;
  readonly proofs: ProofVerifier;
  readonly pages: SignInPages;
  /** The scopes that clients can ask for. */
  readonly scopes: Readonly<Record<string, OfferedScope>>;
  /** The scopes that a client gets that asks for none. */
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
  /** The issuer: the origin at which the authorization server is reached. */
  readonly issuer: string;
  /** The URL of the endpoint, for which tokens are issued. */
  readonly resource: string;
  /** Reports that the request is refused, for `audit()`. */
  refused(refusal: ReportedRefusal): void;
}

/** Why a request is refused, as `audit()` records it. */
export interface ReportedRefusal {
  readonly reason: RefusalReason;
  readonly status: number;
  /** The user, if one is known. */
  readonly userId?: string;
  /** The client, if one is known. */
  readonly clientId?: string | undefined;
}

/** The reasons that `audit()` records for requests to the authorization server. */
export type RefusalReason =
  /** The client is not known, or its secret is wrong. */
  | "invalid_client"
  /** A code or a refresh token is not valid. */
  | "invalid_grant"
  /** A code was used twice, and the access has ended. */
  | "code-replayed"
  /** A refresh token was used long after it was replaced, and the access has ended. */
  | "refresh-token-replayed"
  /** The answer to a question for consent does not come from the page that asked it. */
  | "consent-refused"
  /** Passwords of an account, or from an address, were tried too often. */
  | "login-locked"
  /** An address sends too many requests. */
  | "too-many";

/** Serves the requests for one path. */
export type Route = (visit: Visit) => Promise<Response>;

/** Returns the object of a user. */
export function findObject({ server, env }: Visit, user: string): ObjectStub {
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
