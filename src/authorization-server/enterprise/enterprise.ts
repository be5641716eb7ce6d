/**
 * The sign-in of a company: its identity provider decides which clients its users may use.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/enterprise-managed-authorization; draft-ietf-oauth-identity-assertion-authz-grant
 */
import { waitUntil } from "cloudflare:workers";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { EnterpriseSignIn } from "../server.ts";
import { EnterpriseUser, SKEW_MAX_MS } from "./enterprise-user.ts";
import { checkTrust, type ExchangeRules, exchange, JWT_BEARER } from "./exchange.ts";
import { type FindIssuer, Issuers, type TrustedIssuer } from "./issuers.ts";

/** Options of {@link enterprise}. */
export interface EnterpriseOptions<Env = unknown> {
  /**
   * The identity providers whose assertions are accepted, each with its policy: a list, or a function that finds them in your data,
   * for a server with many companies.
   */
  readonly issuers: readonly TrustedIssuer[] | FindIssuer<Env>;
  /**
   * The maximum lifetime of an assertion, in milliseconds: the time between its claims `iat` and `exp`. The ids of used assertions are
   * stored for this time, the clock skew, and 5 minutes, at most.
   *
   * @default 3_600_000 (1 hour)
   */
  readonly assertionMs?: number;
  /** How far the clock of an issuer may differ from the Worker's clock, in milliseconds. At most 5 minutes. @default 30_000 (30 s) */
  readonly clockSkewMs?: number;
  /** How long an isolate caches the keys of an issuer, in milliseconds, as `jwksCacheMs` of `bearer()`. @default 600_000 (10 minutes) */
  readonly jwksCacheMs?: number;
  /**
   * Whether clients without a secret may use assertions. Whoever obtains an assertion of such a client can then use it in its place,
   * unless the assertion is bound to a key. The draft recommends against it.
   *
   * @default false
   */
  readonly publicClients?: boolean;
}

const MINUTE_MS = 60_000;

const OPTIONS: OptionTable<EnterpriseOptions<never>> = {
  issuers: null,
  assertionMs: [10_000, 24 * 60 * MINUTE_MS],
  clockSkewMs: [0, SKEW_MAX_MS],
  jwksCacheMs: [1_000, 24 * 60 * MINUTE_MS],
  publicClients: null,
};

/**
 * Lets the identity providers of companies decide which clients their users may use (enterprise-managed authorization), as the option
 * `enterprise` of `authorizationServer()`. A client whose user has signed in at the company exchanges an assertion of the identity
 * provider (an ID-JAG) for an access token, without a browser and a consent page. The user is the same as after an interactive sign-in
 * with the same issuer. Each assertion is accepted once, and no refresh tokens are issued.
 *
 * An exchange costs one request to the object of the user, which writes two rows. With a DPoP proof, it costs another request, so that
 * a used assertion creates no object for a key.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const company = { issuer: "https://acme.okta.com", domains: ["acme.com"], scopes: ["notes:read"] };
 * const auth = authorizationServer({
 *   name: "Notes",
 *   identity: oidc({ issuer: "https://login.example.com", clientId: "mcp", clientSecret: "secret" }),
 *   allow: { domains: ["acme.com"] },
 *   scopes: { "notes:read": { description: "Read your notes" } },
 *   enterprise: enterprise({ issuers: [company] }),
 * });
 * ```
 */
export function enterprise<Env = unknown>(options: EnterpriseOptions<Env>): EnterpriseSignIn {
  checkOptions("enterprise(): ", options, OPTIONS);
  const { issuers: given, assertionMs = 60 * MINUTE_MS, clockSkewMs = 30_000, jwksCacheMs = 10 * MINUTE_MS } = options;
  if (typeof given !== "function" && !(Array.isArray(given) && given.length > 0))
    throw new KitError("options-invalid", "enterprise(): issuers is neither a list with an entry nor a function.");
  const issuers = new Issuers(given, jwksCacheMs);
  const publicClients = options.publicClients === true;
  const rules: ExchangeRules = { issuers, assertionMs, clockSkewMs, publicClients, execution: { waitUntil } };
  const grant: EnterpriseSignIn["grant"] = async (visit, form, sender) => {
    const type = form.get("grant_type");
    if (type === JWT_BEARER) return exchange({ visit, form, sender, rules });
    const error = type === undefined ? "invalid_request" : "unsupported_grant_type";
    const description = `grant_type must be authorization_code, refresh_token or ${JWT_BEARER}.`;
    return { clientId: sender.clientId, result: { error, description } };
  };
  return {
    grant,
    check: (server) => {
      if (typeof given !== "function") for (const each of given) checkTrust(each, server);
    },
    metadata: {
      grant_types_supported: ["authorization_code", "refresh_token", JWT_BEARER],
      authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
    },
    createUser: (ctx, env, host) => new EnterpriseUser(ctx, env, host, issuers),
  };
}
