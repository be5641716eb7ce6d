/**
 * Obtains a new token: from the store, by a refresh, or by a grant.
 *
 * @module
 */
import type { AuthorizationServer } from "oauth4webapi";
import type { AuthContext } from "../transports/auth.ts";
import type { FetchFunction } from "../transports/fetch-options.ts";
import { type Pending, redeem, showing, signIn } from "./authorization-code.ts";
import { type ClientAuthentication, createAuthentication, type OAuthClient } from "./client-authentication.ts";
import { discoverIssuer, discoverResource } from "./discovery.ts";
import { OAuthError } from "./errors.ts";
import type { Grant, GrantRequest, Proof, ProofKeys } from "./grant.ts";
import type { Net, ResolveFunction } from "./guard.ts";
import type { RedirectHandler } from "./redirect.ts";
import { type ClientChoice, chooseClient, forgetRegistration, registeredRedirect } from "./registration.ts";
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
  readonly proof: ProofKeys | undefined;
  readonly timeoutMs: number;
  readonly signInTimeoutMs: number;
  readonly resolve: ResolveFunction | undefined;
  readonly fetch: FetchFunction | undefined;
}

/** The reason why another token is needed, and the ways in which it may be obtained. */
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
  /** Whether a grant has just issued it. If it is refused, another attempt would not help. */
  readonly isGranted: boolean;
}

/** A deferred sign-in, as it is stored for `finish()`. */
export interface Deferred {
  readonly pending: Pending;
  readonly source: TokenSource;
  /** The URL of the MCP server. */
  readonly target: string;
  readonly createdAtMs: number;
}

/** The number of deferred sign-ins that are kept for each account. */
const DEFERRED_MAX = 8;

/** The settings for one server, and what is stored for it. */
export class ServerSignIn {
  readonly server: URL;
  readonly settings: Settings;
  /** The key of the tokens in the store, and of their lock. */
  readonly key: string;
  /** Sets of scopes that were granted after a refusal. Asking for them again would not help. */
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
    const { proof } = this.settings;
    if (!proof) throw new OAuthError("token-invalid", "The stored token is bound to a key: pass dpop as before.");
    return (await proof.key(record.key)).send(record.accessToken, url, init, fetch);
  }
}

/**
 * Obtains another token, while no other client that shares the store does.
 *
 * @param signal Aborts a sign-in of the user. A token request is not aborted, because it may have spent the refresh token.
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

/** Ends a deferred sign-in. @param answer The URL that the browser was sent back to. */
export async function complete(
  serverSignIn: ServerSignIn,
  deferred: Deferred,
  fetch: FetchFunction,
  answer: string,
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
  await serverSignIn.settings.store.exclusive(serverSignIn.key, () => attempt.finish(deferred, answer));
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

  async finish({ source, pending }: Deferred, answer: string): Promise<void> {
    const server = await discoverIssuer(this.#net, source.issuer, source.isSilent);
    const proof = source.key === undefined ? undefined : await this.#serverSignIn.settings.proof?.key(source.key);
    const granted = await redeem(this.#request(server, source, proof), pending, answer);
    await this.#serverSignIn.save(toRecord(source, granted));
  }

  /** Returns where to request tokens. Its `requested` has the scopes that the MCP server names. */
  async #target(): Promise<TokenSource> {
    const { challenge } = this.#need;
    // A token that is due is renewed at its issuer. After a refusal, the MCP server may have another authorization server.
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
    const proof = stored.key === undefined ? undefined : await settings.proof?.key(stored.key);
    try {
      const request = this.#request(server, stored, proof);
      const answer = await request.token(client, "refresh_token", { refresh_token, resource });
      const record = toRecord(stored, { client, answer }, stored);
      await this.#serverSignIn.save(record);
      return record;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // If the lock was lost, another client may have spent the refresh token, and stored better ones.
      const now = await this.#serverSignIn.load();
      if (now && now.accessToken !== stored.accessToken) return now;
      refused.add(stored.refreshToken);
      await this.#forgetClient(error, server);
      return undefined;
    }
  }

  async #grant(server: AuthorizationServer, target: TokenSource): Promise<TokenRecord> {
    const { proof: keys, grant } = this.#serverSignIn.settings;
    const isBound = keys !== undefined && server.dpop_signing_alg_values_supported?.includes(keys.algorithm);
    const proof = isBound ? await keys.key() : undefined;
    const source: TokenSource = { ...target, key: proof?.stored };
    const request = this.#request(server, source, proof);
    const granted = "run" in grant ? await grant.run(request) : await this.#signIn(request, grant, source, proof);
    const record = toRecord(source, granted);
    await this.#serverSignIn.save(record);
    return record;
  }

  async #signIn(request: GrantRequest, handler: RedirectHandler, source: TokenSource, proof: Proof | undefined) {
    const place = { store: this.#serverSignIn.settings.store, server: request.server };
    const known = await registeredRedirect(place, handler.url);
    const redirect = await showing(async () => handler.open(known));
    try {
      return await signIn(request, {
        redirect,
        thumbprint: await proof?.handle.calculateThumbprint(),
        timeoutMs: this.#serverSignIn.settings.signInTimeoutMs,
        defer: (pending) =>
          this.#defer({ pending, source, target: this.#serverSignIn.server.href, createdAtMs: Date.now() }),
      });
    } catch (error) {
      await this.#forgetClient(error, request.server);
      throw error;
    } finally {
      await redirect.close();
    }
  }

  /** If the authorization server no longer knows the client, forgets the registration, so that the client registers again. */
  async #forgetClient(error: unknown, server: AuthorizationServer): Promise<void> {
    const { store, grant } = this.#serverSignIn.settings;
    const isUnknown = error instanceof OAuthError && error.error === "invalid_client";
    if (isUnknown && "url" in grant) await forgetRegistration({ store, server }, grant.url);
  }

  async #defer(deferred: Deferred): Promise<void> {
    const { store, account } = this.#serverSignIn.settings;
    await changeDeferred(store, account, (all) => [...all, deferred].slice(-DEFERRED_MAX));
  }

  /** Returns the scopes to request: those that the server names, and those that the token had before. */
  #scope(server: AuthorizationServer, named: string | undefined): string | undefined {
    const { scope, grant } = this.#serverSignIn.settings;
    const { challenge } = this.#need;
    const stored = this.#stored?.issuer === server.issuer ? this.#stored : undefined;
    const need = scope === undefined ? named : joinScopes(scope, challenge?.scope);
    const all = joinScopes(stored?.requested, stored?.scope, need);
    const hasOffline = !("run" in grant) && server.scopes_supported?.includes("offline_access");
    return all !== undefined && hasOffline ? joinScopes(all, "offline_access") : all;
  }

  #request(server: AuthorizationServer, source: TokenSource, proof: Proof | undefined): GrantRequest {
    const { settings } = this.#serverSignIn;
    const net = this.#net;
    const applicant = { net, store: settings.store, server, options: settings, name: this.#name };
    return {
      server,
      resource: source.resource,
      scope: source.requested,
      net,
      signal: this.#signal,
      client: (redirectUrl, grantType) => chooseClient({ ...applicant, redirectUrl, grantType }),
      token: (client, grantType, parameters) => {
        const authentication = authenticationFor(settings, server, client);
        const endpoint = { net, server, clientId: client.id, authentication, dpop: proof?.handle };
        return requestToken(endpoint, grantType, parameters);
      },
    };
  }
}

/**
 * Returns how a client authenticates. The credentials in the options are not stored; they belong to one id at one issuer.
 * The id alone would not suffice, because another authorization server could choose the same one in a registration.
 */
export function authenticationFor(
  { client: given }: Pick<Settings, "client">,
  server: AuthorizationServer,
  client: OAuthClient,
): ClientAuthentication {
  if (given?.id !== client.id || given.issuer !== server.issuer) return createAuthentication(server, client);
  return given.authentication ?? createAuthentication(server, given);
}

/** Whether the authorization server refused a token request, and did not fail by a fault of its own. */
function isRefusal(error: unknown): error is OAuthError {
  return error instanceof OAuthError && (error.status === 400 || error.status === 401);
}

/** Changes the deferred sign-ins of an account, and returns them as they were before. */
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
