/**
 * The types and constants that all routes of the authorization server share.
 *
 * @module
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import type { ProofVerifier } from "../worker/access/auth/proof-verifier.ts";
import type { ObjectStub, RoleObjects } from "../worker/bindings.ts";
import type { OfferedScope } from "./admission.ts";
import type { Clients } from "./clients/clients.ts";
import type { SignInPages } from "./pages/index.ts";
import type { Policy, UserHost } from "./policy.ts";
import type { Form } from "./routes/forms.ts";
import type { Sealing } from "./sealing.ts";
import type { TokenError, TokenResponse, TokenSender } from "./users/grant-record.ts";
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
  readonly enterprise: EnterpriseSignIn | undefined;
}

/** The sender of a token request, before a proof of possession was verified. */
export type TokenClient = Omit<TokenSender, "jkt">;

/** The outcome of a token request, with the client and, if known, the user. */
export interface TokenOutcome {
  readonly result: TokenResponse | TokenError | Response;
  readonly clientId: string;
  readonly userId?: string;
}

/** The sign-in of a company. Created by `enterprise()`, for the option `enterprise` of `authorizationServer()`. Its members are internal. */
export interface EnterpriseSignIn {
  /**
   * The members that are added to the metadata of the authorization server.
   *
   * @internal
   */
  readonly metadata: JsonObject;
  /**
   * Refuses a policy that does not fit the options of the authorization server.
   *
   * @internal
   */
  check(server: Pick<AuthServer, "policy" | "scopes">): void;
  /**
   * Handles a token request with an assertion, and refuses one with an unknown grant type.
   *
   * @internal
   */
  grant(visit: Visit, form: Form, sender: TokenClient): Promise<TokenOutcome>;
  /**
   * Creates the role of the object of a user.
   *
   * @internal
   */
  createUser(ctx: DurableObjectState, env: unknown, host: UserHost): object;
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
  /** An assertion was used before. */
  | "assertion-replayed"
  /** The client may not use assertions. */
  | "unauthorized_client"
  /** An assertion was sent for another resource. */
  | "invalid_target"
  /** An assertion gives none of the scopes. */
  | "invalid_scope"
  /** A consent form was not sent from the consent page. */
  | "consent-refused"
  /** Too many attempts to log in, for one account or from one address. */
  | "login-locked"
  /** Too many requests from one address, or too many assertions of one client for one user. */
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
