/**
 * Obtains a new token: from the store, by a refresh, or by a grant.
 *
 * @module
 */
import type { AuthorizationServer } from "oauth4webapi";
import type { AuthContext } from "../transports/auth.ts";
import type { FetchFunction } from "../transports/fetch-options.ts";
import { callHandler, type Pending, redeem, signIn } from "./authorization-code.ts";
import { type ClientAuthentication, createAuthentication, type OAuthClient } from "./client-authentication.ts";
import { discoverIssuer, discoverResource } from "./discovery.ts";
import { OAuthError } from "./errors.ts";
import type { DpopKey, DpopKeys, Grant, GrantRequest } from "./grant.ts";
import type { Net, ResolveFunction } from "./guard.ts";
import type { RedirectHandler } from "./redirect.ts";
import { type ClientChoice, chooseClient, findRegisteredRedirect, removeRegistration } from "./registration.ts";
import type { OAuthStore } from "./store.ts";
import { requestToken } from "./token-request.ts";
import { isDue, joinScopes, readStored, TOKEN, type TokenRecord, type TokenSource, toRecord } from "./tokens.ts";

/** The options of `oauth()`, with their defaults. */
export interface Settings extends ClientChoice {
  readonly store: OAuthStore;
  readonly account: string;
  readonly grant: Grant | RedirectHandler;
  readonly scope: string | undefined;
  readonly issuer: string | undefined;
  readonly dpopKeys: DpopKeys | undefined;
  readonly timeoutMs: number;
  readonly signInTimeoutMs: number;
  readonly resolve: ResolveFunction | undefined;
  readonly fetch: FetchFunction | undefined;
}

/** The reason why another token is needed, and how it may be obtained. */
export interface RenewalReason {
  /** The token that was refused, or is due. */
  readonly used: TokenRecord | undefined;
  /** The parameters of the refusal. Undefined if the token is due. */
  readonly challenge: Readonly<Record<string, string>> | undefined;
  /** Whether the token lacks scopes. */
  readonly isStepUp: boolean;
  /** Whether a refresh can help. */
  readonly mayRefresh: boolean;
  /** Whether a user may be asked to sign in. */
  readonly mayAsk: boolean;
}

/** The token that replaces the used one. */
export interface Renewal {
  readonly record: TokenRecord;
  /** Whether a grant has just issued the token. If the server refuses it, another attempt would not help. */
  readonly isGranted: boolean;
}

/** A deferred sign-in, which is stored for `finish()`. */
export interface Deferred {
  readonly pending: Pending;
  readonly source: TokenSource;
  /** The URL of the MCP server. */
  readonly target: string;
  readonly createdAtMs: number;
}

/** The maximum number of deferred sign-ins that are stored for each account. */
const DEFERRED_MAX = 8;

/** The settings and the stored tokens for one MCP server. */
export class ServerSignIn {
  readonly server: URL;
  readonly settings: Settings;
  /** The key of the tokens in the store, and of their lock. */
  readonly key: string;
  /** Sets of scopes that were granted after a refusal. Requesting them again would not help. */
  readonly steppedUp = new Set<string>();
  /** Refresh tokens that were refused. */
  readonly refused = new Set<string>();

  constructor(server: string, settings: Settings) {
    this.server = new URL(server);
    this.settings = settings;
    this.key = JSON.stringify(["tokens", settings.account, this.server.href]);
  }

  /** Reads the tokens from the store. */
  async load(): Promise<TokenRecord | undefined> {
    const stored = readStored<TokenRecord>(await this.settings.store.get(this.key));
    return stored && TOKEN.test(stored.accessToken ?? "") ? stored : undefined;
  }

  async save(record: TokenRecord | undefined): Promise<void> {
    await this.settings.store.set(this.key, record && JSON.stringify(record));
  }

  net(fetch: FetchFunction): Net {
    const { fetch: own, timeoutMs, resolve } = this.settings;
    return { server: this.server, fetch: own ?? fetch, timeoutMs, resolve };
  }

  async sendBound(record: TokenRecord, url: string, init: RequestInit, fetch: FetchFunction): Promise<Response> {
    const { dpopKeys } = this.settings;
    if (!dpopKeys) throw new OAuthError("token-invalid", "The stored token is bound to a key: pass dpop as before.");
    return (await dpopKeys.key(record.key)).send(record.accessToken, url, init, fetch);
  }
}

/**
 * Obtains another token, under the lock of the store.
 *
 * @param signal Aborts a sign-in of the user. Token requests are not aborted, because they may have spent the refresh token.
 * @returns Undefined if another token cannot be obtained in the ways that `need` permits.
 */
export async function renew(
  serverSignIn: ServerSignIn,
  need: RenewalReason,
  context: Pick<AuthContext, "fetch" | "name">,
  signal: AbortSignal,
): Promise<Renewal | undefined> {
  const work = async (): Promise<Renewal | undefined> => {
    signal.throwIfAborted();
    const stored = await serverSignIn.load();
    if (stored && stored.accessToken !== need.used?.accessToken && !isDue(stored)) {
      return { record: stored, isGranted: false };
    }
    return new Attempt(serverSignIn, need, context, stored, signal).run();
  };
  return serverSignIn.settings.store.exclusive(serverSignIn.key, work, signal);
}

/** Completes a deferred sign-in. @param redirect The redirect URL to which the browser returned, with its query. */
export async function complete(
  serverSignIn: ServerSignIn,
  deferred: Deferred,
  fetch: FetchFunction,
  redirect: string,
): Promise<void> {
  const need: RenewalReason = {
    used: undefined,
    challenge: undefined,
    isStepUp: false,
    mayRefresh: false,
    mayAsk: true,
  };
  const signal = new AbortController().signal;
  const attempt = new Attempt(serverSignIn, need, { fetch, name: "" }, undefined, signal);
  await serverSignIn.settings.store.exclusive(serverSignIn.key, () => attempt.finish(deferred, redirect));
}

/** One attempt to obtain a token, under the lock of the store. */
class Attempt {
  readonly #serverSignIn: ServerSignIn;
  readonly #need: RenewalReason;
  readonly #net: Net;
  readonly #name: string;
  readonly #stored: TokenRecord | undefined;
  readonly #signal: AbortSignal;

  constructor(
    serverSignIn: ServerSignIn,
    need: RenewalReason,
    { fetch, name }: Pick<AuthContext, "fetch" | "name">,
    stored: TokenRecord | undefined,
    signal: AbortSignal,
  ) {
    this.#serverSignIn = serverSignIn;
    this.#need = need;
    this.#net = serverSignIn.net(fetch);
    this.#name = name;
    this.#stored = stored;
    this.#signal = signal;
  }

  async run(): Promise<Renewal | undefined> {
    const { challenge, isStepUp, mayRefresh, mayAsk } = this.#need;
    const { grant } = this.#serverSignIn.settings;
    const isInteractive = !("run" in grant) || grant.isInteractive;
    const target = await this.#target();
    const server = await discoverIssuer(this.#net, target.issuer, target.isSilent);
    const refreshed = mayRefresh ? await this.#refreshed(server, target) : undefined;
    if (refreshed) return { record: refreshed, isGranted: false };
    if (isInteractive && (!mayAsk || !challenge)) return undefined;
    const requested = this.#scope(server, target.requested);
    const { steppedUp } = this.#serverSignIn;
    if (isStepUp && (requested === undefined || steppedUp.has(requested))) return undefined;
    const record = await this.#grant(server, { ...target, requested });
    if (isStepUp && requested !== undefined) steppedUp.add(requested);
    return { record, isGranted: true };
  }

  async finish({ source, pending }: Deferred, redirect: string): Promise<void> {
    const server = await discoverIssuer(this.#net, source.issuer, source.isSilent);
    const key = source.key === undefined ? undefined : await this.#serverSignIn.settings.dpopKeys?.key(source.key);
    const granted = await redeem(this.#request(server, source, key), pending, redirect);
    await this.#serverSignIn.save(toRecord(source, granted));
  }

  /** Returns where to request tokens. `requested` contains the scopes that the MCP server names. */
  async #target(): Promise<TokenSource> {
    const { challenge } = this.#need;
    // A token that is due is renewed at its issuer. After a refusal, the MCP server may name another authorization server.
    if (!challenge && this.#stored) return this.#stored;
    const found = await discoverResource(this.#net, challenge?.resource_metadata);
    const { issuer: preferred } = this.#serverSignIn.settings;
    const known = [this.#stored?.issuer, preferred].find((each) => each !== undefined && found.issuers.includes(each));
    const isChosen = found.isSilent && preferred !== undefined;
    const issuer = isChosen ? preferred : (known ?? (found.issuers[0] as string));
    const { resource, scopes } = found;
    return { issuer, isSilent: found.isSilent && !isChosen, resource, requested: challenge?.scope ?? scopes };
  }

  /** Refreshes the stored tokens. Returns undefined if a grant is needed. */
  async #refreshed(server: AuthorizationServer, target: TokenSource): Promise<TokenRecord | undefined> {
    const stored = this.#stored;
    const { refused, settings } = this.#serverSignIn;
    if (!stored?.refreshToken || refused.has(stored.refreshToken)) return undefined;
    // A refresh token is sent only to the authorization server that issued it.
    if (stored.issuer !== target.issuer || stored.resource !== target.resource) return undefined;
    const { client, refreshToken: refresh_token, resource } = stored;
    const key = stored.key === undefined ? undefined : await settings.dpopKeys?.key(stored.key);
    try {
      const request = this.#request(server, stored, key);
      const response = await request.token(client, "refresh_token", { refresh_token, resource });
      const record = toRecord(stored, { client, response }, stored);
      await this.#serverSignIn.save(record);
      return record;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // If the lock was lost, another client may have spent the refresh token and stored new tokens.
      const now = await this.#serverSignIn.load();
      if (now && now.accessToken !== stored.accessToken) return now;
      refused.add(stored.refreshToken);
      await this.#removeUnknownClient(error, server);
      return undefined;
    }
  }

  async #grant(server: AuthorizationServer, target: TokenSource): Promise<TokenRecord> {
    const { dpopKeys, grant } = this.#serverSignIn.settings;
    const isBound = dpopKeys !== undefined && server.dpop_signing_alg_values_supported?.includes(dpopKeys.algorithm);
    const key = isBound ? await dpopKeys.key() : undefined;
    const source: TokenSource = { ...target, key: key?.stored };
    const request = this.#request(server, source, key);
    const granted = "run" in grant ? await grant.run(request) : await this.#signIn(request, grant, source, key);
    const record = toRecord(source, granted);
    await this.#serverSignIn.save(record);
    return record;
  }

  async #signIn(request: GrantRequest, handler: RedirectHandler, source: TokenSource, key: DpopKey | undefined) {
    const place = { store: this.#serverSignIn.settings.store, server: request.server };
    const known = await findRegisteredRedirect(place, handler.url);
    const redirect = await callHandler(async () => handler.open(known));
    try {
      return await signIn(request, {
        redirect,
        thumbprint: await key?.handle.calculateThumbprint(),
        timeoutMs: this.#serverSignIn.settings.signInTimeoutMs,
        defer: (pending) =>
          this.#defer({ pending, source, target: this.#serverSignIn.server.href, createdAtMs: Date.now() }),
      });
    } catch (error) {
      await this.#removeUnknownClient(error, request.server);
      throw error;
    } finally {
      await redirect.close();
    }
  }

  /** Removes the registration if the authorization server no longer knows the client, so that the client registers again. */
  async #removeUnknownClient(error: unknown, server: AuthorizationServer): Promise<void> {
    const { store, grant } = this.#serverSignIn.settings;
    const isUnknown = error instanceof OAuthError && error.error === "invalid_client";
    if (isUnknown && "url" in grant) await removeRegistration({ store, server }, grant.url);
  }

  async #defer(deferred: Deferred): Promise<void> {
    const { store, account } = this.#serverSignIn.settings;
    await changeDeferred(store, account, (all) => [...all, deferred].slice(-DEFERRED_MAX));
  }

  /** Returns the scopes to request: the scopes that the server names, and the scopes of the previous token. */
  #scope(server: AuthorizationServer, named: string | undefined): string | undefined {
    const { scope, grant } = this.#serverSignIn.settings;
    const { challenge } = this.#need;
    const stored = this.#stored?.issuer === server.issuer ? this.#stored : undefined;
    const need = scope === undefined ? named : joinScopes(scope, challenge?.scope);
    const all = joinScopes(stored?.requested, stored?.scope, need);
    const hasOffline = !("run" in grant) && server.scopes_supported?.includes("offline_access");
    return all !== undefined && hasOffline ? joinScopes(all, "offline_access") : all;
  }

  #request(server: AuthorizationServer, source: TokenSource, key: DpopKey | undefined): GrantRequest {
    const { settings } = this.#serverSignIn;
    const net = this.#net;
    const clientRequest = { net, store: settings.store, server, options: settings, name: this.#name };
    return {
      server,
      resource: source.resource,
      scope: source.requested,
      net,
      signal: this.#signal,
      client: (redirectUrl, grantType) => chooseClient({ ...clientRequest, redirectUrl, grantType }),
      token: (client, grantType, parameters) => {
        const authentication = authenticationFor(settings, server, client);
        const endpoint = { net, server, clientId: client.id, authentication, dpop: key?.handle };
        return requestToken(endpoint, grantType, parameters);
      },
    };
  }
}

/**
 * Returns the authentication of a client. The credentials in the options are not stored, and are used only for their id at their
 * issuer. The id alone would not suffice, because another authorization server could assign the same id in a registration.
 */
export function authenticationFor(
  { client: given }: Pick<Settings, "client">,
  server: AuthorizationServer,
  client: OAuthClient,
): ClientAuthentication {
  if (given?.id !== client.id || given.issuer !== server.issuer) return createAuthentication(server, client);
  return given.authentication ?? createAuthentication(server, given);
}

/** Whether the authorization server refused a token request. If it failed or was unreachable, the tokens may still be valid. */
function isRefusal(error: unknown): error is OAuthError {
  return error instanceof OAuthError && (error.status === 400 || error.status === 401);
}

/** Changes the deferred sign-ins of an account, and returns the previous ones. */
export async function changeDeferred(
  store: OAuthStore,
  account: string,
  change: (all: readonly Deferred[]) => readonly Deferred[],
): Promise<readonly Deferred[]> {
  const key = JSON.stringify(["sign-ins", account]);
  return store.exclusive(key, async () => {
    const all = readStored<Deferred[]>(await store.get(key)) ?? [];
    const kept = change(all);
    await store.set(key, kept.length > 0 ? JSON.stringify(kept) : undefined);
    return all;
  });
}
