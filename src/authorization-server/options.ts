/**
 * The options of `authorizationServer()`, and their checks.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import { checkOptions, type OptionTable, PERIOD, TIMER_OR_ZERO } from "../core/protocol/check-options.ts";
import { checkFunction, KitError } from "../core/protocol/errors.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import type { Brand } from "../look/brand.ts";
import type { BearerOptions } from "../worker/access/auth/bearer-options.ts";
import { checkUrl } from "../worker/access/auth/fetch-json.ts";
import type { ScopesByName } from "../worker/access/auth/needs.ts";
import type { DpopOptions } from "../worker/access/dpop/index.ts";
import type { OfferedScope, UserRule } from "./admission.ts";
import type { KnownClient } from "./clients/clients.ts";
import { isDocumentUrl } from "./clients/document-url.ts";
import { findRedirectProblem } from "./clients/redirects.ts";
import type { IdentityProvider, SignedInUser } from "./identity/provider.ts";
import type { SignInPagesOptions } from "./pages/index.ts";
import { type AuthorizationServerRates, checkServerRates } from "./rates.ts";
import type { EnterpriseSignIn } from "./server.ts";

/** Options of {@link authorizationServer}. */
export interface AuthorizationServerOptions
  extends Brand,
    Pick<BearerOptions, "resource" | "includes" | "needs" | "metadata"> {
  /** The name of your service, as users know it. It is shown on the pages. */
  readonly name: string;
  /** The identity provider with which users sign in, or several from which they choose. */
  readonly identity: IdentityProvider | readonly IdentityProvider[];
  /**
   * The users who are admitted: addresses, domains, organisations, single users, a function, or `{ anyone: true }`. The rule is
   * checked at each sign-in and each refresh, so a user who is removed loses access when the access token expires. There is no
   * default, because anyone can create an account at a public identity provider.
   */
  readonly allow: UserRule;
  /**
   * The scopes that clients can request, each with a description for users and, optionally, the users who may grant it:
   * `{ "notes:read": { description: "Read your notes" } }`.
   *
   * @default none
   */
  readonly scopes?: Readonly<Record<string, OfferedScope>>;
  /** The scopes that every request needs. They are granted to a client that does not request any scope. @default none */
  readonly requiredScopes?: readonly string[];
  /**
   * Returns the value of `ctx.auth.claims` in handlers. Tasks store it, so it must not contain secrets.
   *
   * @default `name`, `email` if it is verified, and `identity`, the user's issuer and subject at the identity provider, with
   * `tenant` and `audienceTenant` if an assertion names them
   */
  readonly claims?: (user: SignedInUser) => JsonObject;
  /** The wording and links of the pages. @default English pages without links */
  readonly pages?: SignInPagesOptions;
  /**
   * The companies whose identity providers decide which clients their users may use, created by `enterprise()`. Their clients do not
   * need a browser and a consent page.
   *
   * @default none
   */
  readonly enterprise?: EnterpriseSignIn;
  /** Preregistered clients. All other clients need a metadata document, or `registration`. @default none */
  readonly clients?: readonly KnownClient[];
  /**
   * Whether clients may register themselves (RFC 7591). Anyone can then create a client with any name, so the consent page is
   * the only protection against look-alikes. Protocol version 2026-07-28 deprecates registration, but many older clients do not
   * support any other way.
   *
   * @default false
   */
  readonly registration?: boolean;
  /**
   * The private-use schemes that redirect URIs may have, without the colon: `["cursor"]`. Other apps on the same device can
   * claim the same scheme. The specification allows only `https:` and loopback addresses.
   *
   * @default none
   */
  readonly redirectSchemes?: readonly string[];
  /**
   * The issuer, which is the origin of the Worker, such as `https://mcp.example.com`. Set it if a proxy in front of the Worker
   * changes the host, or if the Worker has several hosts and tokens must be valid at only one of them.
   *
   * @default the origin of each request
   */
  readonly issuer?: string;
  /**
   * The maximum rates at which one network may request the pages, `/token` and `/register`. A request that exceeds a rate is
   * answered with 429 and `Retry-After`.
   *
   * @default unlimited
   */
  readonly rates?: AuthorizationServerRates;
  /** Options of DPoP, which binds tokens to keys of clients (RFC 9449). @default bound tokens are issued to clients that send proofs */
  readonly dpop?: DpopOptions;
  /** The lifetime of an access token, in milliseconds. @default 3_600_000 (1 hour) */
  readonly accessTokenMs?: number;
  /** The lifetime of a refresh token, in milliseconds. Each refresh issues a new token. @default 2_592_000_000 (30 days) */
  readonly refreshTokenMs?: number;
  /** How long a browser stays signed in, in milliseconds. During this time the user need not sign in for each client. @default 28_800_000 (8 hours) */
  readonly sessionMs?: number;
  /**
   * How long an isolate accepts an access token before it asks the user's object again whether the token was revoked, in
   * milliseconds. A revocation takes effect everywhere within this time. With 0, the object is asked for each request, which
   * costs one object request.
   *
   * @default 60_000 (1 minute)
   */
  readonly revocationMs?: number;
}

const OPTIONS: OptionTable<AuthorizationServerOptions> = {
  name: null,
  logo: null,
  accent: null,
  identity: null,
  allow: null,
  scopes: null,
  requiredScopes: null,
  claims: null,
  pages: null,
  enterprise: null,
  clients: null,
  registration: null,
  redirectSchemes: null,
  issuer: null,
  resource: null,
  includes: null,
  needs: null,
  metadata: null,
  rates: null,
  dpop: null,
  accessTokenMs: PERIOD,
  refreshTokenMs: PERIOD,
  sessionMs: PERIOD,
  revocationMs: TIMER_OR_ZERO,
};

/** @throws {KitError} `options-invalid` naming the option. */
export function checkServerOptions(options: AuthorizationServerOptions): void {
  checkOptions("authorizationServer(): ", options, OPTIONS);
  const { issuer, scopes = {}, requiredScopes = [], redirectSchemes = [], clients = [] } = options;
  checkFunction("authorizationServer(): claims", options.claims);
  if (issuer !== undefined) {
    checkUrl("authorizationServer(): issuer", issuer);
    const { origin } = new URL(issuer);
    if (issuer !== origin) throw invalid("issuer", `is ${quote(issuer)}; write ${quote(origin)}`);
  }
  const needs: readonly ScopesByName[] = Object.values(options.needs ?? {});
  const required = [requiredScopes, ...needs.flatMap<readonly string[]>(Object.values)].flat();
  const unknown = required.find((scope) => !Object.hasOwn(scopes, scope));
  if (unknown !== undefined) throw invalid("scopes", `lacks ${quote(unknown)}, which requests need`);
  const scheme = redirectSchemes.find((each) => !/^[a-z][a-z\d+.-]*$/.test(each));
  if (scheme !== undefined)
    throw invalid("redirectSchemes", `contains ${quote(scheme)}; write schemes without the colon, such as "cursor"`);
  if (options.rates !== undefined) checkServerRates(options.rates);
  checkProviders([options.identity].flat());
  checkClients(clients, redirectSchemes);
  const { accessTokenMs = 0, refreshTokenMs = Infinity } = options;
  if (accessTokenMs > refreshTokenMs) throw invalid("accessTokenMs", "is longer than refreshTokenMs");
}

function checkProviders(providers: readonly unknown[]): void {
  const ids = new Set<string>();
  if (providers.length === 0) throw invalid("identity", "is an empty list");
  for (const provider of providers) {
    const { id, begin, finish } = (provider ?? {}) as Partial<IdentityProvider>;
    if (typeof begin !== "function" || typeof finish !== "function")
      throw invalid("identity", "contains a value that is not an identity provider");
    if (typeof id !== "string" || !/^[a-z\d-]{1,32}$/.test(id))
      throw invalid("identity", 'contains an id that is not 1 to 32 of a-z, 0-9 and "-"');
    if (ids.has(id)) throw invalid("identity", `contains the id ${quote(id)} twice`);
    ids.add(id);
  }
}

function checkClients(clients: readonly KnownClient[], schemes: readonly string[]): void {
  const ids = new Set<string>();
  for (const { id, name, redirectUris, secret } of clients) {
    if (typeof id !== "string" || id === "" || isDocumentUrl(id))
      throw invalid("clients", "contains an id that is empty or a URL");
    if (ids.has(id)) throw invalid("clients", `contains the id ${quote(id)} twice`);
    ids.add(id);
    if (typeof name !== "string" || name === "") throw invalid("clients", `contains ${quote(id)} without a name`);
    if (secret !== undefined && (typeof secret !== "string" || secret.length < 16)) {
      throw invalid(
        "clients",
        `contains ${quote(id)}, whose secret is shorter than 16 characters; create one with: npx mcp-edge keys`,
      );
    }
    if (!Array.isArray(redirectUris) || redirectUris.length === 0)
      throw invalid("clients", `contains ${quote(id)} without redirectUris`);
    for (const uri of redirectUris) {
      const problem = findRedirectProblem(uri, schemes);
      if (problem !== undefined)
        throw invalid("clients", `contains ${quote(id)}, whose redirect URI ${quote(String(uri))} ${problem}`);
    }
  }
}

function invalid(option: string, problem: string): KitError {
  return new KitError("options-invalid", `authorizationServer(): ${option} ${problem}.`);
}
