/**
 * The object of one user, which stores the user, the grants of clients, and the tokens of the identity provider. Codes and
 * refresh tokens are exchanged here, one request at a time for each grant, so that none is used twice.
 *
 * - `user/me` ({@link StoredUser}) is written at each sign-in, sign-out, and refresh of the provider's tokens. It is deleted
 *   when no browser is signed in and no grant is left, or when the provider revokes the user's access.
 * - `user/grant/<id>` ({@link GrantRecord}) is written when the user gives the grant, when its code is exchanged, and at each
 *   refresh. It is deleted when the grant is revoked or expires.
 *
 * An alarm deletes expired data at most once a day, and deletes the whole database when no data is left. Expired data is never
 * used, even if it has not been deleted yet.
 *
 * @module
 */
import type { RoleObject } from "../../worker/object.ts";
import type { SignedInUser, UpstreamSignIn } from "../identity/provider.ts";
import { CODE_MS, type UserHost } from "../policy.ts";
import { newId } from "../sealing.ts";
import type {
  AnsweredQuestion,
  Approval,
  GrantSummary,
  RedeemRequest,
  RefreshRequest,
  StoredUser,
  TokenError,
  TokenResponse,
} from "./grant-record.ts";
import { Grants } from "./grants.ts";
import { type ProviderTokenOutcome, ProviderTokens } from "./provider-tokens.ts";

/** A user whose browser is signed in. */
export interface SignedIn {
  readonly user: SignedInUser;
  readonly grants: readonly GrantSummary[];
  /** The grants, and the access that companies have given to clients, to which the user has not consented. @default the grants */
  readonly listed?: readonly GrantSummary[];
}

/** The methods that the Worker calls over RPC. */
export interface UserRpc {
  /** Stores a user who has signed in. Returns the session id, which all browsers of the user share. */
  signIn(finished: UpstreamSignIn, provider: string): Promise<string>;
  /** Returns the user of a browser, or undefined if it is no longer signed in. */
  visit(session: string): Promise<SignedIn | undefined>;
  /** Signs out all browsers of the user. Clients keep their access. */
  signOut(session: string): Promise<void>;
  /**
   * Creates a grant. Returns its id and the secret of its code, or undefined if the browser is not signed in or the
   * question was answered before.
   *
   * @param question The question that the user has answered. Undefined if the user was not asked.
   */
  approve(
    session: string,
    approval: Approval,
    question?: AnsweredQuestion,
  ): Promise<{ readonly grant: string; readonly secret: string } | undefined>;
  /** Revokes all grants of a client, or of all clients if `clientId` is undefined. */
  revokeClient(session: string, clientId: string | undefined): Promise<void>;
  /** Exchanges a code for tokens. */
  redeem(grant: string, secret: string, request: RedeemRequest): Promise<TokenResponse | TokenError>;
  /** Exchanges a refresh token for tokens. */
  refresh(grant: string, secret: string, request: RefreshRequest): Promise<TokenResponse | TokenError>;
  /** Revokes a grant if it belongs to the client. */
  revoke(grant: string, clientId: string): Promise<void>;
  /** Returns whether a grant exists and has not expired. */
  isLive(grant: string): Promise<boolean>;
  /** Returns the access token of the identity provider, for a handler that acts for a grant. */
  upstream(grant: string): Promise<ProviderTokenOutcome>;
}

/**
 * The maximum number of answered questions that are stored. A person does not answer more in ten minutes.
 * @limit count Consent questions answered in the last ten minutes, which cannot be answered again. When it is reached, the
 * oldest is removed.
 */
const ANSWERED_MAX = 50;
/** The key of the stored user. */
export const ME = "user/me";
const DAY_MS = 24 * 60 * 60_000;

/** The role of the object of a user. */
export class UserObject implements RoleObject, UserRpc {
  readonly #storage: DurableObjectStorage;
  readonly #host: UserHost;
  readonly #grants: Grants;
  readonly #upstream: ProviderTokens;

  constructor(ctx: DurableObjectState, env: unknown, host: UserHost) {
    this.#storage = ctx.storage;
    this.#host = host;
    const transactionSync = (work: () => void) => ctx.storage.transactionSync(work);
    const place = { env, kv: ctx.storage.kv, host, transactionSync };
    const me = { get: () => this.#me, set: (me: StoredUser) => this.#storage.kv.put(ME, me), end: () => this.#end() };
    this.#upstream = new ProviderTokens(place, me);
    this.#grants = new Grants(place, () => this.#confirmed());
  }

  get #me(): StoredUser | undefined {
    return this.#storage.kv.get<StoredUser>(ME);
  }

  async signIn({ user, tokens }: UpstreamSignIn, provider: string): Promise<string> {
    const upstream = tokens && (await this.#upstream.sealAfter(tokens, user, provider));
    const nowMs = Date.now();
    const session = this.#me?.session ?? newId();
    const sessionUntilMs = nowMs + this.#host.policy.sessionMs;
    const expiry = tokens?.expiresAtMs;
    const answered = this.#me?.answered ?? [];
    const times = { sessionUntilMs, upstreamExpiresAtMs: expiry, checkedAtMs: nowMs };
    this.#storage.kv.put(ME, { user, provider, session, upstream, answered, ...times } satisfies StoredUser);
    await this.#arm();
    return session;
  }

  async visit(session: string): Promise<SignedIn | undefined> {
    const me = this.#signedIn(session);
    return me && { user: me.user, grants: this.#grants.list() };
  }

  async signOut(session: string): Promise<void> {
    const me = this.#signedIn(session);
    if (!me) return;
    this.#storage.kv.put(ME, { ...me, session: newId(), sessionUntilMs: 0 } satisfies StoredUser);
    this.#sweep();
  }

  async approve(
    session: string,
    { code, ...approval }: Approval,
    question?: AnsweredQuestion,
  ): Promise<{ grant: string; secret: string } | undefined> {
    const expiresAtMs = Date.now() + CODE_MS;
    if (this.#signedIn(session)) await this.#arm(expiresAtMs);
    const listAnswered = (me: StoredUser) => me.answered?.filter(({ untilMs }) => Date.now() < untilMs) ?? [];
    // Each form can give access only once, so that it cannot be sent again after the user has revoked the access.
    const isAllowed = () => {
      const me = this.#signedIn(session);
      return me !== undefined && !listAnswered(me).some(({ id }) => id === question?.id);
    };
    // The form is used up only if the grant is stored.
    const storeAnswer = () => {
      const me = this.#signedIn(session);
      if (!me || !question) return;
      const answered = [...listAnswered(me), question].slice(-ANSWERED_MAX);
      this.#storage.kv.put(ME, { ...me, answered } satisfies StoredUser);
    };
    return this.#grants.create({ ...approval, code, expiresAtMs }, isAllowed, storeAnswer);
  }

  async revokeClient(session: string, clientId: string | undefined): Promise<void> {
    if (!this.#signedIn(session)) return;
    this.#grants.revokeClient(clientId);
    this.#sweep();
  }

  redeem(grant: string, secret: string, request: RedeemRequest): Promise<TokenResponse | TokenError> {
    return this.#grants.redeem(grant, secret, request);
  }

  refresh(grant: string, secret: string, request: RefreshRequest): Promise<TokenResponse | TokenError> {
    return this.#grants.refresh(grant, secret, request);
  }

  async revoke(grant: string, clientId: string): Promise<void> {
    this.#grants.revoke(grant, clientId);
    this.#sweep();
  }

  async isLive(grant: string): Promise<boolean> {
    return this.#grants.get(grant) !== undefined;
  }

  async upstream(grant: string): Promise<ProviderTokenOutcome> {
    return this.#grants.get(grant) ? this.#upstream.tokens() : { problem: "revoked" };
  }

  async alarm(): Promise<void> {
    const me = this.#me;
    const lastMs = me && Math.max(...this.#grants.expiries(), me.sessionUntilMs);
    // An empty database is not billed, and deleting rows one by one is.
    if (lastMs === undefined || Date.now() >= lastMs) return this.#storage.deleteAll();
    this.#sweep();
    await this.#arm();
  }

  /** Returns the user if the session of a browser is valid. */
  #signedIn(session: string): StoredUser | undefined {
    const me = this.#me;
    return me && me.session === session && Date.now() < me.sessionUntilMs ? me : undefined;
  }

  /**
   * Returns the user and the scopes that the user may grant now, or undefined if the user no longer has access. The identity
   * provider is asked if its tokens have expired or its last confirmation is too old.
   */
  async #confirmed(): Promise<{ readonly user: SignedInUser; readonly offered: readonly string[] } | undefined> {
    await this.#upstream.confirm();
    const me = this.#me;
    const offered = me && (await this.#host.policy.findOfferedScopes(me.user));
    if (me && offered) return { user: me.user, offered };
    this.#end();
    return undefined;
  }

  /** Revokes all access of the user. */
  #end(): void {
    this.#grants.revokeClient(undefined);
    this.#storage.kv.delete(ME);
  }

  /** Deletes expired data. */
  #sweep(): void {
    const hasGrants = this.#grants.sweep();
    const me = this.#me;
    if (!me || (!hasGrants && Date.now() >= me.sessionUntilMs)) this.#end();
  }

  /** Sets the alarm for the next expiry, unless an earlier one is set. @param alsoMs The expiry of data that is stored next. */
  async #arm(alsoMs = Infinity): Promise<void> {
    const me = this.#me;
    if (!me) return;
    const sessionMs = me.sessionUntilMs > Date.now() ? me.sessionUntilMs : Infinity;
    const nextMs = Math.min(...this.#grants.expiries(), sessionMs, alsoMs);
    const atMs = Math.max(nextMs, Date.now() + DAY_MS);
    const setMs = await this.#storage.getAlarm();
    if (atMs < Infinity && (setMs === null || setMs > atMs)) await this.#storage.setAlarm(atMs);
  }
}
