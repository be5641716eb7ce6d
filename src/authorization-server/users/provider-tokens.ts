/**
 * The tokens of the identity provider. They are stored sealed, and only one request at a time refreshes them, because many
 * providers revoke all tokens when a refresh token is used twice.
 *
 * @module
 */

import { IdentityError, type SignedInUser, type UpstreamTokens } from "../identity/provider.ts";
import type { UserStorage } from "../policy.ts";
import { hashUserId } from "../sealing.ts";
import type { StoredUser } from "./grant-record.ts";

/** An access token of the identity provider, or why none is available. */
export type ProviderTokenOutcome =
  | { readonly tokens: Pick<UpstreamTokens, "accessToken" | "expiresAtMs" | "scopes"> }
  | { readonly problem: UpstreamProblem };

/**
 * Why no access token of the identity provider is available:
 *
 * - `none`: the provider did not issue one.
 * - `expired`: the token has expired and cannot be refreshed.
 * - `revoked`: the provider or the user has revoked the access.
 * - `unavailable`: the provider does not respond.
 */
export type UpstreamProblem = "none" | "expired" | "revoked" | "unavailable";

/** Reads and writes the stored user. */
export interface StoredUserAccess {
  get(): StoredUser | undefined;
  set(me: StoredUser): void;
  /** Revokes all access of the user. */
  end(): void;
}

/** How long before its expiry a token is refreshed, in milliseconds, so that a handler has time to use it. */
const EARLY_MS = 60_000;
/**
 * How long a confirmation of the user by a provider whose tokens do not expire is valid, in milliseconds.
 * @limit ms How long a confirmation of a user by an identity provider whose tokens do not expire is valid. At the next refresh
 * the provider is asked again.
 */
const CHECK_MS = 60 * 60_000;

/** Stores, refreshes and checks the tokens of the identity provider of a user. */
export class ProviderTokens {
  readonly #storage: UserStorage;
  readonly #me: StoredUserAccess;
  #renewing: Promise<UpstreamProblem | undefined> | undefined;
  /** New tokens that are not stored yet, and the sealed tokens that they replace. */
  #unstored: { readonly old: string | undefined; readonly renewed: Partial<StoredUser> } | undefined;

  constructor(storage: UserStorage, me: StoredUserAccess) {
    this.#storage = storage;
    this.#me = me;
  }

  /**
   * Seals the tokens of a new sign-in. If they lack a refresh token, the stored one is kept, because some providers issue a
   * refresh token only at the first sign-in of a user.
   */
  async sealAfter(tokens: UpstreamTokens, user: SignedInUser, provider: string): Promise<string> {
    const me = this.#me.get();
    const old = me?.provider === provider && tokens.refreshToken === undefined ? await this.#open() : undefined;
    const { refreshToken, refreshExpiresAtMs } = old ?? tokens;
    return this.#seal({ ...tokens, refreshToken, refreshExpiresAtMs }, user);
  }

  async #seal(tokens: UpstreamTokens, user: SignedInUser): Promise<string> {
    const { env, host } = this.#storage;
    return host.sealing.seal(env, "OAuth upstream tokens", tokens, await hashUserId(user));
  }

  /** Returns an access token, which is refreshed first if it expires within a minute. */
  async tokens(): Promise<ProviderTokenOutcome> {
    if (this.#me.get()?.upstream === undefined) return { problem: "none" };
    const problem = this.#isExpiring() ? await this.#renewed() : undefined;
    const tokens = problem === undefined ? await this.#open() : undefined;
    if (!tokens) return { problem: problem ?? "none" };
    const { accessToken, expiresAtMs, scopes } = tokens;
    return { tokens: { accessToken, expiresAtMs, scopes } };
  }

  /**
   * Asks the provider whether the user still has access, if its last confirmation is too old. Revokes the access if the user
   * does not. If the provider does not respond, the user keeps the access, so that an outage of the provider does not sign
   * everyone out.
   */
  async confirm(): Promise<void> {
    const me = this.#me.get();
    if (me?.upstream === undefined) return;
    if (this.#isExpiring()) await this.#renewed();
    else if (me.upstreamExpiresAtMs === undefined && Date.now() - me.checkedAtMs >= CHECK_MS) await this.#check();
  }

  #isExpiring(): boolean {
    const { upstreamExpiresAtMs = Infinity } = this.#me.get() ?? {};
    return Date.now() >= upstreamExpiresAtMs - EARLY_MS;
  }

  async #open(): Promise<UpstreamTokens | undefined> {
    const { env, host } = this.#storage;
    const { upstream, user } = this.#me.get() ?? {};
    if (upstream === undefined || user === undefined) return undefined;
    return host.sealing.open(env, "OAuth upstream tokens", upstream, await hashUserId(user));
  }

  /** Refreshes the tokens. Concurrent calls share one refresh. */
  #renewed(): Promise<UpstreamProblem | undefined> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<UpstreamProblem | undefined> {
    const before = this.#me.get();
    const tokens = await this.#open();
    const provider = before && this.#storage.host.policy.providers.get(before.provider);
    if (!before || !tokens?.refreshToken || !provider?.refresh) return "expired";
    const refresh = provider.refresh.bind(provider);
    try {
      const old = before.upstream;
      const kept = this.#unstored?.old === old ? this.#unstored : undefined;
      const next = kept ?? { old, renewed: await this.#askProvider(() => refresh(tokens), before) };
      this.#unstored = next;
      const me = this.#me.get();
      // If the user has signed in during the refresh, newer tokens are already stored.
      if (me && me.upstream === old) this.#me.set({ ...me, ...next.renewed });
      this.#unstored = undefined;
      return undefined;
    } catch (error) {
      return this.#handleFailure(error, before);
    }
  }

  /**
   * Refreshes tokens at the provider. The provider replaces the refresh token, and using the old one again would revoke the
   * access of the user. It is therefore asked only if the storage accepts a write.
   */
  async #askProvider(
    refresh: () => Promise<UpstreamTokens>,
    { upstream: old, user }: StoredUser,
  ): Promise<Partial<StoredUser>> {
    const me = this.#me.get();
    if (me && me.upstream === old) this.#me.set(me);
    const next = await refresh();
    const upstream = await this.#seal(next, user);
    return { upstream, upstreamExpiresAtMs: next.expiresAtMs, checkedAtMs: Date.now() };
  }

  async #check(): Promise<void> {
    const before = this.#me.get();
    const tokens = await this.#open();
    const provider = before && this.#storage.host.policy.providers.get(before.provider);
    if (!before || !tokens || !provider?.check) return;
    try {
      const user = await provider.check(tokens, before.user);
      const me = this.#me.get();
      if (me && me.upstream === before.upstream) this.#me.set({ ...me, user, checkedAtMs: Date.now() });
    } catch (error) {
      this.#handleFailure(error, before);
    }
  }

  /** Returns the problem for an error of the provider. Revokes the user's access if the provider has revoked it. */
  #handleFailure(error: unknown, before: StoredUser): UpstreamProblem {
    const isRevoked = IdentityError.is(error) && error.reason === "revoked";
    if (!isRevoked) {
      console.error("mcp-edge: the tokens of an identity provider could not be refreshed", error);
      return "unavailable";
    }
    if (this.#me.get()?.upstream === before.upstream) this.#me.end();
    return "revoked";
  }
}
