/**
 * Creates the object that signs clients in, checks its options, and completes deferred sign-ins.
 *
 * @module
 */
import { checkOptions, type OptionTable, TIMER } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { AuthContext, ClientAuth } from "../transports/auth.ts";
import type { FetchFunction } from "../transports/fetch-options.ts";
import { ServerAccess } from "./access.ts";
import { OAuthError } from "./errors.ts";
import type { DpopKeys, Grant } from "./grant.ts";
import { isConfidential, type ResolveFunction } from "./guard.ts";
import type { RedirectHandler } from "./redirect.ts";
import { type ClientMetadata, checkClient, checkMetadataUrl, type RegisteredClient } from "./registration.ts";
import { changeDeferred, complete, ServerSignIn, type Settings } from "./renewal.ts";
import { memoryStore, type OAuthStore } from "./store.ts";

/** The options of {@link oauth}. Either `redirect` or `grant` is required. */
export interface OAuthOptions {
  /** How the user signs in: `loopbackRedirect()` of `mcp-edge/node`, `hostedRedirect()`, or your own handler. */
  readonly redirect?: RedirectHandler | undefined;
  /** How tokens are obtained without a redirect, such as `clientCredentials()` or `deviceCode()`. */
  readonly grant?: Grant | undefined;
  /**
   * The store of tokens. Clients that share a store share its tokens, and one of them refreshes for all.
   *
   * @default `memoryStore()`, which loses the tokens when the process ends
   */
  readonly store?: OAuthStore | undefined;
  /** The user who owns the tokens, if the store contains the tokens of several users. @default the empty string */
  readonly account?: string | undefined;
  /** A client that was registered at the authorization server manually. A client with a secret or a key requires its `issuer`. */
  readonly client?: RegisteredClient | undefined;
  /**
   * The URL of the client id metadata document, which describes the client. It is the client id at authorization servers
   * that support such documents. It must begin with `https://` and have a path.
   *
   * @see MCP 2026-07-28, basic/authorization/client-registration, "Client ID Metadata Documents"
   */
  readonly clientMetadataUrl?: string | undefined;
  /**
   * The metadata with which the client registers itself at an authorization server. `false` forbids registration.
   *
   * @default the title or name that `connect()` gets, as `client_name`
   * @see RFC 7591, section 2
   */
  readonly clientMetadata?: ClientMetadata | false | undefined;
  /** The scopes to request, separated by spaces. @default the scopes that the server asks for */
  readonly scope?: string | undefined;
  /**
   * The issuer of the authorization server to use if the MCP server names several issuers, or none.
   *
   * @default the first issuer that the MCP server names, or the MCP server itself if it names none
   */
  readonly issuer?: string | undefined;
  /** Binds tokens to a key, if the authorization server supports DPoP: `dpopKeys()`. @default tokens are not bound to a key */
  readonly dpop?: DpopKeys | undefined;
  /** The time limit of each request to an authorization server, in milliseconds. @default 15,000 */
  readonly timeoutMs?: number | undefined;
  /** How long a user may take to sign in, in milliseconds. @default 600,000 (10 minutes) */
  readonly signInTimeoutMs?: number | undefined;
  /**
   * Resolves a host name to its addresses, so that a public name cannot lead to a private address. On Node, use `resolveHost` of
   * `mcp-edge/node`.
   *
   * @default names are not resolved, and only the host in the URL is checked
   */
  readonly resolve?: ResolveFunction | undefined;
  /**
   * The function that sends the requests for metadata and tokens. On Node, `createPinnedFetch()` of `mcp-edge/node` connects only to
   * public addresses.
   *
   * @default the `fetch` of the client; in `finish()`, the global `fetch`
   */
  readonly fetch?: FetchFunction | undefined;
}

/** The outcome of {@link OAuth.finish}. */
export interface FinishedSignIn {
  /** The URL of the MCP server that the user signed in for. */
  readonly server: string;
}

/** Authorizes the requests of clients. Pass it to `connect()` as the option `auth`. */
export interface OAuth extends ClientAuth {
  /**
   * Completes a sign-in for which `connect()` has rejected with `redirect-needed`. Only the account that began the sign-in can complete
   * it, so take the option `account` from the session of the browser.
   *
   * @param redirect The request for the redirect URL, or the redirect URL with its query.
   * @throws {OAuthError} `answer-invalid` if this account has no open sign-in with this `state`; `expired` if the user took longer than
   *   `signInTimeoutMs`; `access-denied` if the user or the server refused; other reasons if a request for metadata or tokens fails.
   */
  finish(redirect: string | URL | { readonly url: string }): Promise<FinishedSignIn>;
  /**
   * Removes the tokens for a server from the store. Clients of other `OAuth` objects continue to use the tokens in their memory until
   * the server refuses them. The tokens are not revoked at the authorization server; see `revokeTokens()`.
   *
   * @param server The URL of the MCP server, as it is passed to `connect()`.
   */
  signOut(server: string | URL): Promise<void>;
}

const OPTIONS: OptionTable<OAuthOptions> = {
  redirect: null,
  grant: null,
  store: null,
  account: null,
  client: null,
  clientMetadataUrl: null,
  clientMetadata: null,
  scope: null,
  issuer: null,
  dpop: null,
  timeoutMs: TIMER,
  signInTimeoutMs: TIMER,
  resolve: null,
  fetch: null,
};

/**
 * Creates an object that signs clients in at servers that require a token, and renews the tokens.
 *
 * ```ts
 * import { connect } from "mcp-edge/client";
 * import { oauth } from "mcp-edge/client/oauth";
 * import { fileStore, loopbackRedirect } from "mcp-edge/node";
 *
 * const auth = oauth({
 *   redirect: loopbackRedirect(),
 *   store: fileStore("tokens"),
 *   clientMetadata: { client_name: "My app" },
 * });
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0", auth });
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @see MCP 2026-07-28, basic/authorization
 */
export function oauth(options: OAuthOptions): OAuth {
  const settings = readSettings(options);
  const serverSignIns = new Map<string, { serverSignIn: ServerSignIn; access: ServerAccess }>();
  const find = (server: string | URL) => {
    const { href } = new URL(server);
    const found = serverSignIns.get(href);
    if (found) return found;
    const serverSignIn = new ServerSignIn(href, settings);
    const created = { serverSignIn, access: new ServerAccess(serverSignIn) };
    serverSignIns.set(href, created);
    return created;
  };
  return {
    authorize(server: string, context: AuthContext): FetchFunction {
      if (!isConfidential(new URL(server))) {
        const text = `${server} does not use TLS, so credentials are not sent there. Use https; http is only for this machine.`;
        throw new OAuthError("insecure", text);
      }
      const { access } = find(server);
      return (url, init) => access.send({ context, url, init });
    },
    async finish(redirect) {
      const { store, account, signInTimeoutMs } = settings;
      const address = new URL(typeof redirect === "string" || redirect instanceof URL ? redirect : redirect.url);
      const state = address.searchParams.get("state");
      // Removed before it is used, so that a redirect is accepted only once.
      const all = await changeDeferred(store, account, (open) => open.filter(({ pending }) => pending.state !== state));
      const deferred = all.find(({ pending }) => pending.state === state);
      if (!deferred) throw new OAuthError("answer-invalid", "This account has no open sign-in with this state.");
      if (deferred.createdAtMs + signInTimeoutMs < Date.now()) {
        throw new OAuthError("expired", `The user did not sign in within ${signInTimeoutMs} ms (signInTimeoutMs).`);
      }
      const { serverSignIn, access } = find(deferred.target);
      await complete(serverSignIn, deferred, (url, init) => fetch(url, init), address.href);
      access.clear();
      return { server: deferred.target };
    },
    async signOut(server) {
      const { serverSignIn, access } = find(server);
      await settings.store.exclusive(serverSignIn.key, () => serverSignIn.save(undefined));
      access.clear();
    },
  };
}

/** Validates options, and adds their defaults. @throws {KitError} `options-invalid` naming the option. */
export function readSettings(options: OAuthOptions): Settings {
  checkOptions("oauth(): ", options, OPTIONS);
  const { redirect, grant, client, clientMetadataUrl, clientMetadata, dpop, scope, issuer, resolve } = options;
  const way = grant ?? redirect;
  if (!way || (grant && redirect)) {
    throw new KitError("options-invalid", "oauth(): pass either redirect, for users who sign in, or grant.");
  }
  if (client) checkClient(client);
  if (clientMetadataUrl !== undefined) checkMetadataUrl(clientMetadataUrl);
  return {
    grant: way,
    client,
    clientMetadataUrl,
    clientMetadata,
    scope,
    issuer,
    resolve,
    dpopKeys: dpop,
    fetch: options.fetch,
    store: options.store ?? memoryStore(),
    account: options.account ?? "",
    timeoutMs: options.timeoutMs ?? 15_000,
    signInTimeoutMs: options.signInTimeoutMs ?? 600_000,
  };
}
